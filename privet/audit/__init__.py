"""Attacks on Privet's own claims, for whoever does not want to take them on trust.

attacks                  adversarial tables, an independent minimizer, what a check found
exact                    exact privacy loss: the proofs' equality cases, and blind hill climbing
profile                  hockey-stick and Renyi divergences by quadrature
replay                   sensitivity and gap, by running the deterministic part twice
samplers                 distribution tests, on noise and on the noise behind releases
black_box                lower bounds on epsilon from draws alone
battery                  all checks on one minimizer
descent_replay           all checks on private gradient descent
statistics_replay        all checks on noisy second moments
means_replay             all checks on noisy sums by class
 cases, release_replay, measure_replay, answer_replay, beside_replay, doors, precision,
 full_audit
                         all of it on every mechanism and release: ``privet audit``
"""

from privet._moved import old_names
from privet.audit.attacks import Attacks, Finding, Pair, WeightedTable
from privet.audit.battery import audit_mechanism
from privet.audit.black_box import WatchedBound, epsilon_lower_bound, watched_bound
from privet.audit.descent_replay import audit_descent
from privet.audit.exact import Worst, climb, worst_loss
from privet.audit.samplers import check_noise

__all__ = [
    "Attacks",
    "Finding",
    "Pair",
    "WatchedBound",
    "WeightedTable",
    "Worst",
    "audit_descent",
    "audit_mechanism",
    "check_noise",
    "climb",
    "epsilon_lower_bound",
    "watched_bound",
    "worst_loss",
]

#: Names of one version ago; they will be removed.
__getattr__ = old_names(
    __name__,
    {
        "Table": "privet.audit.WeightedTable",
        "audit": "privet.audit.audit_mechanism",
        "search": "privet.audit.climb",
    },
)
