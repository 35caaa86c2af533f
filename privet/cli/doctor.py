"""``privet doctor``: is everything here that Privet needs?"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Literal

import typer

from privet.cli.options import Json, command
from privet.cli.printing import as_json, say, table

#: packages, what they are for, and whether Privet cannot do without
PACKAGES = (
    ("numpy", "numbers", True),
    ("scipy", "special functions, sparse tables", True),
    ("scikit-learn", "the models' contract", True),
    ("dp-accounting", "accounting of budgets", True),
    ("narwhals", "tables of every kind", True),
    ("threadpoolctl", "one thread for linear algebra", True),
    ("typer", "the command line", True),
    ("rich", "the command line", True),
    ("matplotlib", "pictures (extra cli)", False),
    ("jinja2", "reports (extra cli)", False),
    ("pyyaml", "entries of the registry and model cards (extra cli)", False),
    ("pyarrow", "CSV and Parquet files (extra cli or parquet)", False),
    ("cryptography", "signatures (extra sign)", False),
    ("python-flint", "numbers recomputed by privet verify (extra verify)", False),
    ("psycopg", "ledgers in PostgreSQL (extra postgres)", False),
    ("fastapi", "privet serve (extra service)", False),
    ("uvicorn", "privet serve (extra service)", False),
    ("skl2onnx", "exports to ONNX (extra onnx)", False),
    ("onnxruntime", "exports to ONNX (extra onnx)", False),
    ("mlflow-skinny", "exports to MLflow (extra mlflow)", False),
    ("distributed", "tables on a Dask cluster (extra dask)", False),
    ("pyspark", "tables on Spark (extra spark)", False),
)


@dataclass(frozen=True)
class Inspected:
    """One check and its outcome."""

    what: str
    state: Literal["good", "missing", "bad"]
    told: str


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, doctor, "privet doctor --json")


def doctor(json: Json = False) -> None:
    """Check the installation: versions, extras, the source of randomness, the disk."""
    found = [_python(), *map(_package, PACKAGES), _randomness(), _disk(), _release()]
    sick = any(finding.state == "bad" for finding in found)
    if json:
        as_json({"healthy": not sick, "findings": [asdict(finding) for finding in found]})
    else:
        table(("", "check", "found"), [(one.state, one.what, one.told) for one in found])
        say("\nSomething is wrong; see above." if sick else "\nEverything works.")
    if sick:
        raise typer.Exit(1)


def _python() -> Inspected:
    good = sys.version_info >= (3, 11)
    told = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Inspected("Python", "good" if good else "bad", told)


def _package(package: tuple[str, str, bool]) -> Inspected:
    from importlib.metadata import PackageNotFoundError, version

    name, purpose, needed = package
    try:
        return Inspected(name, "good", f"{version(name)}: {purpose}")
    except PackageNotFoundError:
        told = f"not installed: {purpose}"
        return Inspected(name, "bad" if needed else "missing", told)


def _randomness() -> Inspected:
    try:
        different = len({os.urandom(16) for _ in range(64)}) == 64
    except NotImplementedError:
        different = False
    told = "the operating system's source answers" if different else "no source of randomness"
    return Inspected("randomness", "good" if different else "bad", told)


def _disk() -> Inspected:
    """A ledger and a model file must reach the disk before anything is released."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"privet")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return Inspected("disk", "bad", f"a file cannot be written durably: {error.strerror}")
    return Inspected("disk", "good", "files are written durably")


def _release() -> Inspected:
    """One small fit from end to end."""
    try:
        import numpy as np

        from privet.models import LogisticRegression

        x = np.linspace(-1.0, 1.0, 200)[:, None]
        model = LogisticRegression(1.0).fit(x, x[:, 0] > 0)
        good = model.guarantee_.private and bool(np.isfinite(model.coef_).all())
    except Exception as error:
        return Inspected("a fit", "bad", f"failed with {type(error).__name__}")
    return Inspected("a fit", "good" if good else "bad", "200 synthetic rows at epsilon = 1")
