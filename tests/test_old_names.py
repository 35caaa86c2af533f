"""Names of one version ago: they work, and say where the name lives now."""

from __future__ import annotations

from importlib import import_module

import pytest

from privet.privacy.budget import PureDP
from privet.privacy.guarantee import guarantee_from_json
from tests.privacy.statements import event, guarantee

OLD = {
    "privet.audit.Table": "privet.audit.WeightedTable",
    "privet.audit.audit": "privet.audit.audit_mechanism",
    "privet.audit.search": "privet.audit.climb",
    "privet.minimise.minimise": "privet.minimize.minimize",
    "privet.minimise.minimise_many": "privet.minimize.minimize_many",
    "privet.minimise.minimiser_norm": "privet.minimize.minimizer_norm",
    "privet.minimise.rounding_floor": "privet.minimize.rounding_floor",
    "privet.risk.RegularisedRisk": "privet.risk.RegularizedRisk",
    "privet.privacy.ledger.Ledger": "privet.ledger.Ledger",
    "privet.privacy.ledger.Receipt": "privet.ledger.Receipt",
    "privet.statement.Account": "privet.statement.AccountTold",
    "privet.privacy.statement.statement_facts": "privet.statement.statement_facts",
}


def at(address: str) -> object:
    home, _, name = address.rpartition(".")
    return getattr(import_module(home), name)


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_old_name_works_and_says_its_new_one(old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=f"now {new}"):
        found = at(old)
    assert found is at(new)


@pytest.mark.parametrize("module", sorted({old.rpartition(".")[0] for old in OLD}))
def test_other_names_are_unknown(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        at(f"{module}.nothing")


def test_a_guarantee_has_its_old_spelling_and_files_keep_it() -> None:
    made = guarantee(event(PureDP(1.0)))
    with pytest.warns(FutureWarning, match="guarantee_.neighbors"):
        assert made.neighbours == made.neighbors
    assert made.to_json()["neighbours"] == made.neighbors
    assert guarantee_from_json(made.to_json()) == made
