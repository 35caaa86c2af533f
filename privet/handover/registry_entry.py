"""A released model as an entry of the public registry of deployments."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from privet._version import __version__
from privet.errors import DeclarationError, MissingExtra
from privet.handover.registry_fields import OPEN, faults
from privet.privacy.budget import Budget
from privet.privacy.guarantee import Guarantee
from privet.statement import Facts
from privet.statement.facts import Fact

#: The registry's word for a kind of budget; it has none for a Gaussian one.
VARIANT = {"pure": "Pure DP", "approx": "Approximate DP", "zcdp": "Zero-concentrated DP"}


@dataclass(frozen=True)
class Publisher:
    """What no file knows: who releases it, where and for what."""

    curators: Sequence[str] = ()
    region: str = ""
    sector: str = ""
    use: str = ""
    authors: Sequence[str] = ()


def registry_entry(facts: Facts, guarantee: Guarantee, name: str, by: Publisher) -> dict[str, Any]:
    """The entry of one released model, from the facts of its statement."""
    if not guarantee.private:
        raise DeclarationError("This model promises nothing to anybody: it has no entry to make.")
    entry = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "model",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(facts, guarantee, name, by),
            "dp_variant": _variant(facts, guarantee),
            "privacy_loss": _loss(facts, guarantee),
            "deployment_model": _model(),
            "accounting": {
                "post_processing": "Predictions are computed from the released numbers alone.",
                "composition": _words(facts, "composition"),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _words(facts, "declared"),
                "mechanisms": f"{guarantee.mechanism}. {guarantee.theorem}",
                "justification": facts["summary"]["how_certain"].text,
            },
            "administrative": {
                "registry_authors": list(by.authors) or [f"{OPEN}: who wrote this entry)"],
                "notes": _notes(facts),
            },
        },
    }
    found = faults(entry)
    if found:
        raise DeclarationError(f"The entry would not be in the registry's form: {found[0]}.")
    return entry


def _basic(facts: Facts, guarantee: Guarantee, name: str, by: Publisher) -> dict[str, Any]:
    released = guarantee.released or ""
    found = {
        "name": name,
        "data_curators": list(by.curators) or [f"{OPEN}: whose data it is)"],
        "description": facts["summary"]["what"].text,
        "intended_use": by.use or f"{OPEN}: what the model is for)",
        "data_product_type": "Machine learning model",
        "data_product_region": by.region or f"{OPEN}: where the people live)",
        "publication_date": released[:10] or date.today().isoformat(),
    }
    return {**found, **({"data_product_sector": by.sector} if by.sector else {})}


def _variant(facts: Facts, guarantee: Guarantee) -> dict[str, Any]:
    domain = "Tables with declared columns: bounds of numbers, lists of categories and classes."
    open_facts = "; ".join(guarantee.assumptions)
    return {
        "variant_name": VARIANT.get(guarantee.budget.kind, "Custom"),
        "data_domain": f"{domain} {_words(facts, 'making', 'label', 'columns')}",
        "unprotected_quantities": open_facts or "The number of rows and columns.",
    }


def _loss(facts: Facts, guarantee: Guarantee) -> dict[str, Any]:
    return {
        "privacy_unit": guarantee.unit,
        "privacy_unit_details": guarantee.compared,
        "privacy_parameters": _parameters(guarantee.budget),
        "privacy_parameters_details": facts["summary"]["how_much"].text,
    }


def _parameters(budget: Budget) -> dict[str, float]:
    """The budget's own numbers; of a Gaussian one its rho, which it implies."""
    told = {key: value for key, value in budget.facts().items() if key in ("epsilon", "delta")}
    rho = budget.facts().get("rho")
    mu = budget.facts().get("mu")
    if rho is None and mu is not None:
        rho = math.nextafter(mu * mu / 2.0, math.inf)
    return {**told, **({"rho": rho} if rho is not None else {})}


def _model() -> dict[str, str]:
    return {
        "model_name": "Central",
        "actors": "A curator who holds the rows releases the model; anybody may use it.",
        "release_type": "One release",
        "data_source_type": "Static",
        "data_source_type_details": "The table as it was when the model was trained.",
        "access_type": "Non-interactive",
        "access_type_details": "The released numbers are published as a file or behind an address.",
    }


def _words(facts: Facts, section: str, *keys: str) -> str:
    """The facts of a section, or some of them, each a sentence that begins with its name."""
    chosen = [fact for fact in facts[section].facts if not keys or fact.key in keys]
    return " ".join(filter(None, map(_sentence, chosen)))


def _sentence(fact: Fact) -> str:
    told = " ".join(filter(None, [fact.text, "; ".join(fact.items)])).strip()
    return f"{fact.name}: {told.rstrip('.')}." if told else ""


def _notes(facts: Facts) -> str:
    return f"Written by Privet {__version__} from the released file. {_words(facts, 'making')}"


def as_yaml(entry: dict[str, Any]) -> str:
    """The entry as YAML, in the order of the registry's fields."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("YAML needs PyYAML: pip install 'privet[cli]'.") from error
    return str(yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=100))
