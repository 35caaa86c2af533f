"""``privet intervals``, and the intervals in a report."""

from __future__ import annotations

import json
from pathlib import Path

from privet import ZCDP, Ledger
from tests.cli.people import CANARY, ROWS, misused, refused, run


def trained(people: Path, tmp_path: Path, *extra: str) -> Path:
    model = tmp_path / "model.privet"
    done = run(
        "train",
        people / "people.csv",
        "--schema",
        people / "schema.toml",
        "--rho",
        "2",
        "--standardize",
        "none",
        "--out",
        model,
        *extra,
    )
    assert done.exit_code == 0, done.output
    return model


def test_table_file_plot_and_report(people: Path, tmp_path: Path) -> None:
    model = trained(people, tmp_path)
    out, plot = tmp_path / "intervals.json", tmp_path / "forest.svg"
    done = run(
        "intervals", model, people / "people.csv", "--rho", "500", "--out", out, "--plot", plot
    )
    assert done.exit_code == 0, done.output
    assert "regularized population risk" in " ".join(done.stdout.split())
    assert "rho = 500" in done.stdout
    assert CANARY not in done.output + out.read_text()
    kept = json.loads(out.read_text())
    assert kept["guarantee"]["event"]["n"] == ROWS
    assert plot.read_text().startswith("<?xml")
    page = tmp_path / "report.html"
    done = run("report", model, "--intervals", out, "--out", page)
    assert done.exit_code == 0, done.output
    assert "Confidence intervals" in page.read_text()
    assert page.read_text().count('id="intervals-') > 0
    done = run("report", people / "model.privet", "--intervals", out, "--out", tmp_path / "r.html")
    refused(done, "another model")


def test_json_and_joint(people: Path, tmp_path: Path) -> None:
    model = trained(people, tmp_path)
    arguments = ("intervals", model, people / "people.csv", "--rho", "500", "--json")
    single, joint = (json.loads(run(*arguments, *extra).stdout) for extra in ((), ("--joint",)))
    assert joint["joint"] == "sidak"
    widths = [sum(each["table"]["upper"]) - sum(each["table"]["lower"]) for each in (single, joint)]
    assert widths[1] > 1.2 * widths[0]


def test_a_ledger_is_charged_or_asked_for(people: Path, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", cap=ZCDP(600.0))
    book = str(ledger.path)
    model = trained(people, tmp_path, "--ledger", book, "--dataset", "people")
    arguments = ("intervals", model, people / "people.csv", "--rho", "500")
    refused(run(*arguments), "ledger")
    form = ("--format", "latex", "--out", tmp_path / "intervals.json")
    done = run(*arguments, "--ledger", book, *form)
    assert done.exit_code == 0, done.output
    # a file that standard output is sent to is the table, and nothing else
    assert done.stdout.startswith("\\begin{table}")
    assert done.stdout.endswith("\\end{table}\n")
    assert "Written" in done.stderr
    assert abs(ledger.remaining("people") - 98.0) < 1e-6
    refused(run(*arguments, "--ledger", book), "cap")


def test_refusals(people: Path, tmp_path: Path) -> None:
    model = trained(people, tmp_path)
    short = tmp_path / "short.csv"
    short.write_text("".join((people / "people.csv").read_text().splitlines(keepends=True)[:-1]))
    refused(run("intervals", model, short, "--rho", "500"), str(ROWS - 1), str(ROWS))
    refused(run("intervals", model, people / "people.csv", "--rho", "0.0001"), "half of a")
    misused(run("intervals", model, people / "people.csv"), "--epsilon")
    misused(
        run("intervals", model, people / "people.csv", "--rho", "1", "--dataset", "people"),
        "--ledger",
    )


def test_every_file_in_a_configuration_is_beside_it(people: Path, tmp_path: Path) -> None:
    model = trained(people, tmp_path)
    (tmp_path / "people.csv").write_bytes((people / "people.csv").read_bytes())
    config = tmp_path / "run.toml"
    config.write_text(
        f'model = "{model.name}"\ndata = "people.csv"\nrho = 500\nout = "i.json"\nplot = "p.svg"\n'
    )
    done = run("intervals", "--config", config)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "i.json").exists()
    assert (tmp_path / "p.svg").exists()
