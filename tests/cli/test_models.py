"""Every model from the command line: trained, described, asked, refused where it does not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from privet import load
from tests.cli.people import ROWS, misused, run

APPROXIMATE = ("--epsilon", "5", "--delta", "1e-6")
KINDS: dict[str, tuple[str, tuple[object, ...]]] = {
    "kernel-svm": ("KernelSVC", ("--gamma", "2.5", "--frequencies", "20", *APPROXIMATE)),
    "kernel-logistic": (
        "KernelLogisticRegression",
        ("--frequencies", "20", "--standardize", "private", *APPROXIMATE),
    ),
    "gaussian": ("LargeMarginGaussian", APPROXIMATE),
    "svm": ("LinearSVC", ("--standardize", "private", "--norm-bound", "6", *APPROXIMATE)),
    "logistic": (
        "LogisticRegression",
        (*APPROXIMATE, "--class-weight", "over 50k=2", "--class-weight", "up to 50k=0.5"),
    ),
}


def train(people: Path, folder: Path, *more: object) -> Any:
    return run(
        *("train", people / "people.csv", "--schema", people / "schema.toml"),
        *("--out", folder / "model.privet", *more),
    )


def test_class_means_are_for_many_classes(people: Path, tmp_path: Path) -> None:
    two = train(people, tmp_path, "--mechanism", "means", "--epsilon", "1")
    assert two.exit_code != 0
    assert "more than two classes" in " ".join(two.output.split())
    (tmp_path / "schema.toml").write_text(
        'rows = "scaled"\n[label]\nname = "kind"\nclasses = ["a", "b", "c"]\n'
        "[columns.size]\nlow = 0\nhigh = 9\n"
    )
    lines = (f"{'abc'[i % 3]},{3 * (i % 3)}" for i in range(90))
    (tmp_path / "things.csv").write_text("kind,size\n" + "\n".join(lines) + "\n")
    asked = (tmp_path / "things.csv", "--schema", tmp_path / "schema.toml", "--epsilon", "1")
    done = run("train", *asked, "--out", tmp_path / "m.privet")
    assert done.exit_code == 0, done.output
    assert "from noisy sums of each class" in " ".join(done.output.split())
    told = " ".join(run("statement", tmp_path / "m.privet").output.split())
    assert "noisy class means with spherical Laplace noise" in told
    assert run("verify", tmp_path / "m.privet").exit_code == 0
    schema = ("--schema", tmp_path / "schema.toml", "--rows", "90", "--epsilon", "1")
    assert "noisy class means here, of which there is no plan" in run("plan", *schema).output
    refused = run("intervals", tmp_path / "m.privet", tmp_path / "things.csv", "--epsilon", "1")
    assert refused.exit_code != 0
    assert "no intervals" in " ".join(refused.output.split())
    assert "--standardize none" in " ".join(refused.output.split())
    assert run("report", tmp_path / "m.privet", "--out", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "has no known law here" in page
    assert "chosen by a search" not in page  # one fit, no search


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_every_kind_is_trained_and_used(people: Path, tmp_path: Path, kind: str) -> None:
    name, flags = KINDS[kind]
    done = train(people, tmp_path, "--model", kind, *flags)
    assert done.exit_code == 0, done.output
    model = load(file := tmp_path / "model.privet")
    assert type(model).__name__ == name
    assert model.guarantee_.private
    assert model.guarantee_.budget.facts() == {"epsilon": 5.0, "delta": 1e-6}
    if kind == "kernel-svm":
        assert (model.gamma, model.n_frequencies) == (2.5, 20)
    if kind == "logistic":
        assert model.class_weight == {"over 50k": 2.0, "up to 50k": 0.5}
    out = tmp_path / "predictions.csv"
    asked = run("predict", file, people / "people.csv", "--out", out)
    assert asked.exit_code == 0, asked.output
    assert len(out.read_text().splitlines()) == ROWS + 1
    assert run("statement", file).exit_code == 0
    report = run("report", file, "--out", tmp_path / "report.html")
    assert report.exit_code == 0, report.output
    measured = run("evaluate", file, people / "people.csv", "--epsilon", "1", "--training-rows")
    assert measured.exit_code == 0, measured.output


def test_gradient_descent_and_a_center(people: Path, tmp_path: Path) -> None:
    """Last year's release by gradient descent is this year's center; both files are verified."""
    pure = train(people, tmp_path, "--mechanism", "gradient", "--epsilon", "1")
    assert pure.exit_code != 0
    assert "has no pure epsilon" in pure.output
    done = train(people, tmp_path, "--mechanism", "gradient", *APPROXIMATE)
    assert done.exit_code == 0, done.output
    first = tmp_path / "model.privet"
    assert load(first).guarantee_.event.parts[0].mechanism == "gradient"
    told = run("statement", first).output
    assert "steps, each row's" in " ".join(told.split())
    assert run("report", first, "--out", tmp_path / "report.html").exit_code == 0
    (tmp_path / "next").mkdir()
    done = train(people, tmp_path / "next", "--center", first, *APPROXIMATE)
    assert done.exit_code == 0, done.output
    second = tmp_path / "next" / "model.privet"
    assert load(second).center is not None
    assert "center of the regularization" in " ".join(run("statement", second).output.split())
    for file in (first, second):
        assert run("verify", file).exit_code == 0
    other = ("--model", "gaussian", "--force", *APPROXIMATE)
    wrong = train(people, tmp_path, "--center", first, *other)
    misused(wrong, "--center goes with --model logistic or svm only")


def test_kernels_are_tuned(people: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[[candidate]]\ngamma = 1.0\n[[candidate]]\ngamma = 5.0\n")
    done = run(
        *("tune", people / "people.csv", "--schema", people / "schema.toml", "--json"),
        *("--candidates", tmp_path / "c.toml", "--out", tmp_path / "best.privet", *APPROXIMATE),
        *("--model", "kernel-svm", "--frequencies", "20", "--class-weight", "over 50k=2"),
    )
    assert done.exit_code == 0, done.output
    best = load(tmp_path / "best.privet")
    assert best.gamma in (1.0, 5.0)
    assert best.n_frequencies == 20
    assert best.class_weight == {"over 50k": 2.0}


def test_the_flags_can_be_in_a_file(people: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f"data = {json.dumps(str(people / 'people.csv'))}\n"
        f"schema = {json.dumps(str(people / 'schema.toml'))}\n"
        'model = "kernel-svm"\nfrequencies = 10\ngamma = 2.0\nepsilon = 5.0\ndelta = 1e-6\n'
        'class-weight = ["over 50k=2", "up to 50k=1"]\nout = "model.privet"\n'
    )
    done = run("train", "--config", tmp_path / "run.toml")
    assert done.exit_code == 0, done.output
    model = load(tmp_path / "model.privet")
    assert (model.n_frequencies, model.gamma) == (10, 2.0)
    assert model.class_weight == {"over 50k": 2.0, "up to 50k": 1.0}


def test_least_squares_of_the_labels_by_a_flag(people: Path, tmp_path: Path) -> None:
    done = train(people, tmp_path, "--loss", "least_squares", "--epsilon", "5")
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "model.privet").loss == "least_squares"
    assert run("verify", tmp_path / "model.privet").exit_code == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--gamma", "1"), ("kernel",)),
        (("--frequencies", "9", "--model", "gaussian"), ("kernel",)),
        (("--model", "kernel-svm", "--norm-bound", "2"), ("norm",)),
        (("--class-weight", "rich=2"), ("label=weight", "over 50k")),
        (("--class-weight", "over 50k"), ("label=weight",)),
        (("--class-weight", "over 50k=much"), ("not a number",)),
        (("--class-weight", "over 50k=1", "--class-weight", "over 50k=2"), ("twice",)),
        (("--model", "forest"), ("kernel-svm",)),
        (("--loss", "least_squares", "--model", "logistic"), ("--model svm",)),
        (("--loss", "logistic", "--model", "svm"), ("--model logistic",)),
        (("--loss", "absolute", "--model", "svm"), ("least_squares",)),
    ],
)
def test_flags_that_do_not_fit_are_wrong_usage(
    people: Path, tmp_path: Path, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    misused(train(people, tmp_path, "--epsilon", "1", *flags), *words)
    assert not (tmp_path / "model.privet").exists()


@pytest.mark.parametrize(
    "flags",
    [
        ("--model", "svm", "--epsilon", 3, "--class-weight", "over 50k=3"),
        ("--model", "gaussian", "--rho", 2, "--mechanism", "output"),
        ("--model", "kernel-svm", "--rho", 2, "--frequencies", 20, "--standardize", "private"),
        ("--epsilon", 50),  # so much that numbers bend
    ],
    ids=lambda flags: str(flags[1]),
)
def test_a_plan_by_the_schema_is_for_the_fit_that_train_makes(
    people: Path, tmp_path: Path, flags: tuple[Any, ...]
) -> None:
    schema = ("--schema", people / "schema.toml")
    planned = run("plan", "--rows", ROWS, *schema, *flags, "--json")
    assert planned.exit_code == 0, planned.output
    out = tmp_path / "m.privet"
    fitted = run("train", people / "people.csv", *schema, *flags, "--out", out, "--json")
    assert fitted.exit_code == 0, fitted.output
    made, plan = json.loads(fitted.stdout), json.loads(planned.stdout)
    assert plan["regularization"] == pytest.approx(made["regularization"], rel=1e-12)
    assert plan["declared"]["d"] == made["columns"]
    assert ("knots" in load(out).schema_) == ("--model" not in flags)


def test_a_plan_without_a_schema_has_no_labels_and_no_bounds() -> None:
    size = ("plan", "--rows", 1000, "--columns", 4, "--epsilon", 1)
    misused(run(*size, "--class-weight", "a=2"), "--schema")
    misused(run(*size, "--standardize", "private"), "--schema")
    misused(run(*size, "--model", "gaussian", "--loss", "huber"), "--loss")
    assert "huber loss" in run(*size, "--loss", "huber").stdout
