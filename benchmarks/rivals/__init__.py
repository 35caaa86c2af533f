"""What a user could pick instead of Privet, written for the same rows and the same promise."""

from . import majority_class, naive_bayes, perturbed_logistic, private_descent, random_trees
from .rival import Promise, Rival, Task

#: Rivals by name, simplest first.
RIVALS: dict[str, Rival] = {
    "majority": majority_class.RIVAL,
    "naive Bayes": naive_bayes.RIVAL,
    "random trees": random_trees.RIVAL,
    "perturbed logistic": perturbed_logistic.RIVAL,
    "gradient descent": private_descent.RIVAL,
}

__all__ = ["RIVALS", "Promise", "Rival", "Task"]
