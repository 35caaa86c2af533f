"""Names of the audit room of one version ago."""

from __future__ import annotations

import pytest

import privet.audit


@pytest.mark.parametrize(
    ("old", "new"), [("Table", "WeightedTable"), ("audit", "audit_mechanism"), ("search", "climb")]
)
def test_an_old_name_works_and_says_its_new_one(old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=f"privet.audit.{new}"):
        assert getattr(privet.audit, old) is getattr(privet.audit, new)


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tables'"):
        _ = privet.audit.tables
