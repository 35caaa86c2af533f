"""Parameters of scikit-learn and of other private libraries, and what to say here instead."""

from __future__ import annotations

from typing import Any, Self

CERTIFIED = "leave it out: the minimum is certified, or the fit fails and says so"
HABITS = {
    "C": "use regularization=, which is 1/(n C); 'auto', the default, chooses it by a public rule",
    "alpha": "use regularization=; 'auto', the default, chooses it by a public rule",
    "penalty": "leave it out: the penalty is a ridge, of strength regularization=",
    "random_state": (
        "leave it out: whoever knows the seed knows the noise (tests may use insecure_seed=)"
    ),
    "max_iter": CERTIFIED,
    "tol": CERTIFIED,
    "solver": CERTIFIED,
    "multi_class": "leave it out: declare the classes in classes=[...]",
    "epsilon": "use budget=, a number or PureDP(epsilon)",
    "delta": "use budget=ApproxDP(epsilon, delta)",
    "data_norm": "use norm_bound=",
}


class RefusesHabits:
    """An estimator that answers a foreign parameter by what stands in its place."""

    def __new__(cls, *args: Any, **named: Any) -> Self:
        """Refuse a foreign parameter before ``__init__``, whose signature scikit-learn reads."""
        for name in HABITS.keys() & named.keys():
            if name not in cls._get_param_names():  # type: ignore[attr-defined]
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {HABITS[name]}.")
        return super().__new__(cls)
