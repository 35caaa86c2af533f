"""The fields of the public registry of deployments (OpenDP, as of November 2026), and a checker.

A deployment is one YAML mapping, and no other keys are allowed at any level. Everything but the
names of curators, region, sector and intended use follows from a model file; those are asked for,
and where nobody answers a placeholder stands that the checker names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: How a placeholder begins.
OPEN = "(to be filled in"

STATUSES = (
    *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    *("Approved (Update Requested)", "Approved (Pending)"),
)
PRODUCTS = (
    *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
    *("Interactive API", "SQL queries"),
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
MODELS = ("Local", "Central", "Shuffle", "Federated", "Varies")


@dataclass(frozen=True)
class RegistryField:
    """One field: from which tier on it is required (0 never, 1 always), and what it may hold."""

    tier: int = 0
    kind: str = "text"  # text, number, number or text, texts, date
    values: tuple[str, ...] = ()


_F = RegistryField
FIELDS: dict[str, dict[str, RegistryField]] = {
    "basic": {
        "name": _F(1),
        "data_curators": _F(1, "texts"),
        "description": _F(1),
        "intended_use": _F(1),
        "data_product_type": _F(1, values=PRODUCTS),
        "data_product_region": _F(1),
        "publication_date": _F(1, "date"),
        "data_product_sector": _F(values=SECTORS),
    },
    "dp_variant": {
        "variant_name": _F(2, values=VARIANTS),
        "data_domain": _F(3),
        "unprotected_quantities": _F(3),
    },
    "privacy_loss": {
        "privacy_unit": _F(2),
        "privacy_unit_details": _F(3),
        "privacy_parameters": _F(2, "parameters"),
        "privacy_parameters_details": _F(3),
    },
    "deployment_model": {
        "model_name": _F(2, values=MODELS),
        "model_name_details": _F(),
        "actors": _F(3),
        "release_type": _F(2, values=("One release", "Many releases")),
        "release_type_details": _F(),
        "data_source_type": _F(2, values=("Static", "Dynamic")),
        "data_source_type_details": _F(3),
        "access_type": _F(2, values=("Interactive", "Non-interactive")),
        "access_type_details": _F(3),
    },
    "accounting": {"post_processing": _F(3), "composition": _F(3)},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": _F(3),
        "mechanisms": _F(3),
        "justification": _F(3),
    },
    "administrative": {"registry_authors": _F(0, "texts"), "sources": _F(), "notes": _F()},
}
PARAMETERS = {"epsilon": "number", "delta": "number or text", "rho": "number"}
TOP = ("url_slug", "status", "tier", "deployment")


def faults(entry: Any) -> list[str]:
    """What the registry would refuse; empty for an entry in its form."""
    return list(_faults(entry))


def gaps(entry: Any) -> list[str]:
    """Where a placeholder still stands, by address."""
    return list(_gaps(entry, ""))


def _gaps(value: Any, here: str) -> Iterator[str]:
    if isinstance(value, str) and value.startswith(OPEN):
        yield here
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _gaps(inner, f"{here}.{key}" if here else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _gaps(inner, here)


def _faults(entry: Any) -> Iterator[str]:
    if not isinstance(entry, Mapping) or set(entry) != set(TOP):
        yield f"an entry has the keys {', '.join(TOP)} and no others"
        return
    if not isinstance(entry["url_slug"], str) or not entry["url_slug"]:
        yield "url_slug: a text"
    if entry["status"] not in STATUSES:
        yield f"status: one of {', '.join(STATUSES)}"
    tier = entry["tier"]
    if isinstance(tier, bool) or tier not in (1, 2, 3):
        yield "tier: 1, 2 or 3"
        return
    blocks = entry["deployment"]
    if not isinstance(blocks, Mapping) or set(blocks) - set(FIELDS):
        yield f"deployment: blocks among {', '.join(FIELDS)}"
        return
    for name, fields in FIELDS.items():
        yield from _block(name, blocks.get(name, {}), fields, tier)


def _block(name: str, block: Any, fields: dict[str, RegistryField], tier: int) -> Iterator[str]:
    if not isinstance(block, Mapping) or set(block) - set(fields):
        yield f"{name}: keys among {', '.join(fields)}"
        return
    for key, field in fields.items():
        here = f"{name}.{key}"
        if key not in block:
            required = 0 < field.tier <= tier or (key == "registry_authors" and block)
            if required:
                yield f"{here}: missing"
        elif not _fits(block[key], field):
            told = ", ".join(field.values) or field.kind
            yield f"{here}: {told}"


def _fits(value: Any, field: RegistryField) -> bool:
    if field.kind == "texts":
        return isinstance(value, list) and bool(value) and all(map(_is_text, value))
    if field.kind == "date":
        return isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None
    if field.kind == "parameters":
        return (
            isinstance(value, Mapping)
            and bool(value)
            and not set(value) - set(PARAMETERS)
            and all(_is_parameter(value[key], PARAMETERS[key]) for key in value)
        )
    return _is_text(value) and (not field.values or value in field.values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_parameter(value: Any, kind: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number or (kind == "number or text" and _is_text(value))
