"""The rooms of the house: who may import whom, what takes no data, what is light to load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import privet

ROOT = Path(privet.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: What every room may open.
WORDS = {
    *("errors", "_checks", "_files", "_moved", "_model_names", "_names", "_types"),
    *("_process", "_untrusted", "_version"),
}
BELOW_MECHANISMS = WORDS | {
    "bisection",
    "domain",
    "schema",
    "losses",
    "rows",
    "risk",
    "minimize",
    "randomness",
    "noise",
    "exact_draws",
    "grid",
    "privacy",
}
BELOW_MODELS = BELOW_MECHANISMS | {"mechanisms", "ledger", "statement"}
BELOW_USES = BELOW_MODELS | {"features", "models", "answers", "kernels"}
BELOW_EDGES = BELOW_USES | {
    "audit",
    "datasets",
    "evaluation",
    "inference",
    "planning",
    "store",
    "tuning",
}

#: What each room may open. Imports go downward, and among the lower rooms only along the chains
#: losses < risk < minimize, domain < schema < rows < minimize, randomness < noise, domain < noise,
#: randomness < exact_draws < grid.
ROOMS: dict[str, set[str]] = {
    "_files": {"_untrusted", "errors"},
    "_model_names": set(),
    "_names": set(),
    "_process": set(),
    "_untrusted": {"errors"},
    "errors": set(),
    "_checks": {"errors"},
    "_types": set(),
    "_version": set(),
    "_moved": set(),
    "minimise": {"_moved"},  # an old address
    "bisection": set(),
    "domain": WORDS,
    "schema": WORDS | {"domain"},
    "losses": WORDS | {"bisection"},
    "rows": WORDS | {"domain", "schema"},
    "risk": WORDS | {"losses", "rows"},
    "minimize": WORDS | {"losses", "rows", "risk"},
    "randomness": WORDS,
    "noise": WORDS | {"domain", "randomness"},
    "exact_draws": WORDS | {"randomness"},
    "grid": WORDS | {"randomness", "exact_draws"},
    "privacy": WORDS | {"bisection"},
    "ledger": WORDS | {"bisection", "privacy"},
    "statement": WORDS | {"bisection", "privacy", "ledger"},
    "mechanisms": BELOW_MECHANISMS,
    "features": WORDS | {"rows", "randomness", "privacy"},
    "models": BELOW_MODELS | {"features"},
    "answers": BELOW_MODELS | {"features", "models"},
    "kernels": BELOW_MODELS | {"features", "models", "answers"},
    "store": BELOW_USES,
    "datasets": BELOW_MODELS,
    "audit": BELOW_USES | {"evaluation", "inference", "tuning"},
    "evaluation": BELOW_USES,
    "inference": BELOW_USES | {"planning"},
    "planning": BELOW_USES,
    "tuning": BELOW_USES | {"evaluation", "inference"},
    "report": BELOW_EDGES,
    "certificate": {
        "_untrusted",
        "errors",
    },  # it computes a second time, and shares how files are read
    "handover": BELOW_EDGES | {"certificate"},
    "cli": BELOW_EDGES | {"certificate", "handover", "report", "service"},
    "service": BELOW_EDGES | {"handover", "report"},
    "__main__": {"cli"},
}

#: Names that speak of privacy constants, and the parameters through which data could enter them.
CONSTANTS = ("sensitivity", "bound", "scale", "calibrat", "floor")
DATA = {"X", "x", "y", "rows", "data", "table"}

HEAVY = ("sklearn", "dp_accounting", "opendp", "matplotlib", "pandas", "numba", "psycopg")


def room(path: Path) -> str:
    """The room of a file: its first folder, or its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def addresses(path: Path) -> Iterator[str]:
    """What a file imports, by full names, also inside functions and for type checking."""
    package = ["privet", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported(path: Path) -> set[str]:
    """The rooms that a file imports."""
    parts = [name.split(".") for name in addresses(path)]
    return {name[1] for name in parts if name[0] == "privet" and len(name) > 1}


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_opens_only_the_rooms_below_it(path: Path) -> None:
    here = room(path)
    if here == "__init__":
        return  # the front door: tested by what it loads
    assert here in ROOMS, f"{here} has no place in the house: add it to the table"
    foreign = imported(path) - {here} - ROOMS[here]
    assert not foreign, f"{here} must not import {', '.join(sorted(foreign))}"


def test_the_table_of_rooms_has_no_cycle() -> None:
    below: dict[str, set[str]] = {name: set(allowed) for name, allowed in ROOMS.items()}
    while below:
        free = {name for name, allowed in below.items() if not allowed & set(below)}
        assert free, f"a cycle among {sorted(below)}"
        below = {name: allowed for name, allowed in below.items() if name not in free}


MODULES = {
    ".".join(["privet", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}
#: Components that are still to be cut apart; none may be added.
CYCLES: list[set[str]] = []


def opened(path: Path) -> set[str]:
    """The modules that a file imports anywhere."""
    found = set()
    for name in addresses(path):
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        found.add(name)
    return found - {""}


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of more than one node, each of which leads to every other of its set."""

    def reached(start: str) -> set[str]:
        seen, ahead = set(), [start]
        while ahead:
            here = ahead.pop()
            seen.add(here)
            ahead += graph[here] - seen
        return seen

    reach = {name: reached(name) for name in graph}
    groups = {frozenset(n for n in reach[name] if name in reach[n]) for name in graph}
    return [set(group) for group in groups if len(group) > 1]


def test_no_module_leads_back_to_itself() -> None:
    """Imports inside functions and for type checking count too, but for the command line's."""
    graph = {name: opened(path) for name, path in MODULES.items()}
    found = [group for group in components(graph) if any(".cli" not in name for name in group)]
    assert [group for group in found if group not in CYCLES] == []
    assert [group for group in CYCLES if group not in found] == [], "strike it off the list"


def test_a_cycle_is_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()}
    assert components(graph) == [{"a", "b", "c"}]


def test_rooms_below_see_data_or_speak_of_privacy_never_both() -> None:
    assert "privacy" not in ROOMS["rows"] | ROOMS["losses"] | ROOMS["risk"] | ROOMS["minimize"]
    assert not {"rows", "losses", "risk", "minimize"} & ROOMS["privacy"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_privacy_constant_takes_data(path: Path) -> None:
    for function in functions(path):
        if any(word in function.name for word in CONSTANTS):
            arguments = function.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            taken = DATA & {argument.arg for argument in every}
            assert not taken, f"{function.name} takes {', '.join(sorted(taken))}"


def test_there_are_constants_to_check() -> None:
    """The search above is not idle."""
    found = [f.name for path in FILES for f in functions(path) if "sensitivity" in f.name]
    assert "minimizer_sensitivity" in found


def loaded_by(statement: str) -> set[str]:
    """Heavy packages in memory after a statement, in a process of its own."""
    code = f"import sys\n{statement}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    return set(ast.literal_eval(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import privet",
        "import privet.privacy",
        "import privet.mechanisms",
        "from privet import PureDP, ZCDP, ApproxDP",
    ],
)
def test_importing_is_light(statement: str) -> None:
    assert loaded_by(statement) == set()


def test_the_light_test_can_see_a_heavy_package() -> None:
    assert "sklearn" in loaded_by("import sklearn")
