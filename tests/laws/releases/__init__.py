"""Every way in which Privet releases something about private rows, each on a small made-up table.

One list for the laws that hold for all of them. ``MODULES`` says which releases each file of
``privet/mechanisms`` is at work in; a new file there must be entered.
"""

from tests.laws.releases import answers, linear, measures, searches  # noqa: F401  (they enter)
from tests.laws.releases.registry import RELEASES, UNWRITTEN, Draw, Published, Words

#: A release in which the file's noise, bound or rule is at work.
MODULES: dict[str, str] = {
    "objective": "logistic objective pure",
    "gap": "logistic objective pure",
    "shaped": "logistic hull pure",
    "output": "logistic output gaussian zcdp",
    "gradient": "logistic gradient",
    "descent_rules": "logistic gradient classes",
    "statistics": "linear statistics zcdp",
    "means": "logistic class means",
    "class_rule": "logistic class means domain",
    "regularization": "logistic output pure",
    "release": "logistic objective pure",
    "trainer": "logistic objective pure",
    "laplace_rate": "logistic objective pure",
    "moments": "gaussian mixture pure",
    "matrix": "intervals zcdp",
    "matrix_beside": "intervals beside a fit",
    "counts": "evaluate pure",
    "selection": "partition pure",
    "search": "stopping zcdp",
    "kernel_minimizer": "semi tddl pure",
    "projection": "semi kernel_noise zcdp",
    "function": "function zcdp",
    "sparse_vector": "sparse pure",
    "distinguishing": "ball pure",
}

__all__ = ["MODULES", "RELEASES", "UNWRITTEN", "Draw", "Published", "Words"]
