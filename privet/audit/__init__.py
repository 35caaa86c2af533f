"""Attacks on Privet's own claims, for whoever does not want to take them on trust.

neighbours               adversarial tables with multiplicities, and an independent minimiser
exact                    exact privacy loss: the proofs' equality cases, and blind hill climbing
profile                  hockey-stick and Renyi divergences by quadrature
replay                   sensitivity and gap, by running the deterministic part twice
samplers                 distribution tests, on noise and on the noise behind releases
black_box                lower bounds on epsilon from draws alone
battery                  all checks on one mechanism
"""

from privet.audit.battery import audit
from privet.audit.black_box import epsilon_lower_bound
from privet.audit.exact import Worst, search, worst_loss
from privet.audit.finding import Finding
from privet.audit.neighbours import Attacks, Pair, Table
from privet.audit.samplers import check_noise

__all__ = [
    "Attacks",
    "Finding",
    "Pair",
    "Table",
    "Worst",
    "audit",
    "check_noise",
    "epsilon_lower_bound",
    "search",
    "worst_loss",
]
