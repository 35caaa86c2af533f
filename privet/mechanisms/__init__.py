"""The only rooms where sensitivity meets noise: one theorem per file."""

from privet.mechanisms.objective import ObjectivePerturbation
from privet.mechanisms.output import OutputPerturbation
from privet.mechanisms.release import Design, Mechanism, Release

#: Every mechanism by its name; a law that holds for mechanisms is tested on all of these.
MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism for mechanism in (OutputPerturbation, ObjectivePerturbation)
}

__all__ = [
    "MECHANISMS",
    "Design",
    "Mechanism",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Release",
]
