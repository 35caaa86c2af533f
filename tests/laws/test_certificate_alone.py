"""The second computation shares no code with the first: by its imports, and by what it loads."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.laws.test_imports import MODULES, ROOT, opened

HERE = "privet.certificate"
#: What it may share: sentences of refusal, the bounded reader of files from outside, and the
#: package's own front door.
SHARED = {"privet", "privet.errors", "privet._version", "privet._untrusted"}


def certificate() -> set[str]:
    return {name for name in MODULES if name.startswith(HERE)}


def test_it_reaches_nothing_of_the_library() -> None:
    """Through any chain of imports, those inside functions too."""
    seen, ahead = set(), list(certificate())
    while ahead:
        name = ahead.pop()
        seen.add(name)
        # the front door loads a room when it is asked for it, which nobody here does
        found = set() if name == "privet" else opened(MODULES[name])
        ahead += found - seen
    assert len(certificate()) > 10
    assert seen <= certificate() | SHARED, sorted(seen - certificate() - SHARED)


def test_it_loads_nothing_of_the_library() -> None:
    code = (
        "import sys\nimport privet.certificate.recompute\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "('privet', 'numpy', 'scipy', 'sklearn', 'dp_accounting')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    loaded = set(ast.literal_eval(done.stdout))
    assert "privet.certificate.recompute" in loaded
    assert {name for name in loaded if not name.startswith(HERE)} <= SHARED


def test_outside_of_the_library_it_uses_ball_arithmetic_alone() -> None:
    found = set()
    for name in certificate():
        for node in ast.walk(ast.parse(MODULES[name].read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    assert found - set(sys.stdlib_module_names) == {"privet", "flint"}
