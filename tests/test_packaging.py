"""What is promised about an installation: ranges, locks without a host, what the archives hold."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
EXTRAS = {
    name: list(map(Requirement, needed))
    for name, needed in PROJECT["optional-dependencies"].items()
}
NEEDED = list(map(Requirement, PROJECT["dependencies"]))
#: packages under the names that they are imported by
IMPORTED = {
    "dp_accounting": "dp-accounting",
    "flint": "python-flint",
    "mlflow": "mlflow-skinny",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
#: users bring these themselves: their frames are read, never made without being asked for
GUESTS = {"pandas", "polars", "duckdb"}


def pinned(lock: str) -> dict[str, set[str]]:
    """The versions of each package in a lock, one for each range of Pythons."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / lock).read_text(), re.M):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def test_every_requirement_has_both_ends() -> None:
    for each in (*NEEDED, *(one for needed in EXTRAS.values() for one in needed)):
        if each.name != "privet":
            signs = sorted(part.operator for part in each.specifier)
            assert signs == ["<", ">="], f"{each.name} needs the range that was tested"


@pytest.mark.parametrize("lock", ["requirements/ci.lock", "requirements/all.lock"])
def test_the_locks_admit_what_is_required_and_name_no_host(lock: str) -> None:
    text, versions = (ROOT / lock).read_text(), pinned(lock)
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=sha256:[0-9a-f]{64})", text, re.M)  # no index, no links
    named = re.findall(r"^\S.*", text, re.M)
    assert len(named) == len(re.findall(r"^[a-z0-9._-]+==.*\\\n +--hash=", text, re.M))
    # Spark is large and comes with its cluster: `make test-spark` installs it
    kept = [needed for name, needed in EXTRAS.items() if name != "spark"]
    wanted = [*NEEDED, *(one for needed in kept for one in needed)]
    wanted += map(Requirement, GROUPS["dev"]) if "ci" in lock else []
    for each in wanted:
        if each.name != "privet":
            assert all(map(each.specifier.contains, versions[canonicalize_name(each.name)])), each


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_every_package_that_is_imported_is_declared() -> None:
    declared = {canonicalize_name(each.name) for each in NEEDED}
    declared |= {canonicalize_name(one.name) for needed in EXTRAS.values() for one in needed}
    used = {name for path in (ROOT / "privet").rglob("*.py") for name in imports(path)}
    foreign = used - set(sys.stdlib_module_names) - {"privet"} - GUESTS
    assert {"numpy", "joblib", "sklearn"} <= foreign  # the search is not idle
    assert {canonicalize_name(IMPORTED.get(name, name)) for name in foreign} <= declared


def test_the_source_archive_takes_what_a_reader_expects() -> None:
    told = (ROOT / "MANIFEST.in").read_text()
    for name in ("SECURITY.md", "CHANGELOG.md", "docs", "tests", "requirements"):
        assert name in told
    kinds = {path.suffix for path in (ROOT / "privet").rglob("*.*") if path.is_file()} - {
        ".py",
        ".pyc",
    }
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]
    for kind in kinds - {".typed"}:
        assert any(pattern.endswith(kind) for pattern in data["privet"]), f"{kind} is left out"


def test_an_image_holds_what_the_package_is_built_from_and_nothing_else() -> None:
    """A layer keeps what was copied, also where it is removed later: no table, ledger or token."""
    steps = re.findall(r"^COPY (.+) \S+$", (ROOT / "deploy" / "Containerfile").read_text(), re.M)
    copied = {name for step in steps for name in step.split()}
    assert {"pyproject.toml", "privet", PROJECT["readme"], *PROJECT["license-files"]} <= copied
    assert copied <= {"pyproject.toml", "privet", "README.md", "LICENSE", "MANIFEST.in"} | {
        "requirements/all.lock"
    }
    assert all((ROOT / name).exists() for name in copied)
