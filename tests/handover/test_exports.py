"""Each export is read back by the other program, and predicts what the model predicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import yaml

from privet import (
    ApproxDP,
    HuberRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    PrivateERM,
    PureDP,
    load,
)
from privet.datasets import census_schema, census_table
from privet.errors import DeclarationError
from privet.handover.handed_model import HandedModel
from privet.handover.plain_model import plain_model
from privet.handover.registry_fields import FIELDS, OPEN, faults, gaps
from privet.kernels import KernelSVC
from privet.models import fit_table
from privet.privacy.budget import GDP, ZCDP
from privet.schema import Schema, Target
from privet.service.served_model import served_file
from tests.cli.people import refused, run
from tests.losses.own import pseudo_huber, two_scores

MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(PureDP(3.0)),
    "svm": LinearSVC(PureDP(3.0)),
    "unit": LogisticRegression(ZCDP(0.5), standardize="unit"),
    "whiten": LogisticRegression(ApproxDP(2.0, 1e-6), standardize="whiten"),
    "gdp": LinearSVC(GDP(1.0), standardize="unit"),
}
PROBABILITIES = ("logistic",)
#: A regression.
MINUTES = Schema(dict(list(census_schema().columns.items())[:6]), Target("commute", 0, 240))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("exports")
    table = census_table(600, seed=3)
    for name, model in MODELS.items():
        fit_table(model, census_schema(), table).save(found / f"{name}.privet")
    kernel = KernelSVC(ApproxDP(3.0, 1e-6), gamma=1.0, n_frequencies=20)
    fit_table(kernel, census_schema(), table).save(found / "kernel.privet")
    fit_table(HuberRegressor(PureDP(3.0)), MINUTES, table).save(found / "minutes.privet")
    return found


def rows() -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    table = census_table(300, seed=9)
    frame = pd.DataFrame({name: table[name] for name in census_schema().columns})
    return frame, census_schema().encode_features(frame)


def exported(folder: Path, name: str, form: str, place: Path, *more: str) -> Path:
    done = run("export", folder / f"{name}.privet", "--to", form, "--out", place, *more)
    assert done.exit_code == 0, done.output
    return place


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_predicts_what_the_model_predicts(
    folder: Path, name: str, tmp_path: Path
) -> None:
    from onnxruntime import InferenceSession

    place = exported(folder, name, "onnx", tmp_path / "model.onnx")
    session = InferenceSession(str(place), providers=["CPUExecutionProvider"])
    model, (frame, x) = load(folder / f"{name}.privet"), rows()
    labels, values, *_ = session.run(None, {"rows": x.astype(np.float32)})
    clear = abs(model.decision_function(frame)) > 1e-4  # rows are in single precision there
    assert labels[clear].tolist() == model.predict(frame)[clear].tolist()
    assert clear.sum() > 250
    if name in PROBABILITIES:
        np.testing.assert_allclose(values, model.predict_proba(frame), atol=1e-5)
    told = session.get_modelmeta().custom_metadata_map
    assert told["model_sha256"] == HandedModel(folder / f"{name}.privet").digest
    assert told["statement"].startswith("Privacy statement for")


@pytest.mark.parametrize("kind", [HuberRegressor, LinearRegression, PoissonRegressor])
def test_onnxruntime_predicts_the_numbers_of_a_regression(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnxruntime import InferenceSession

    table = census_table(600, seed=3)
    model = fit_table(kind(PureDP(0.05)), MINUTES, table)  # so noisy that bounds are met
    model.save(tmp_path / "minutes.privet")
    place = exported(tmp_path, "minutes", "onnx", tmp_path / "model.onnx")
    session = InferenceSession(str(place), providers=["CPUExecutionProvider"])
    frame, _ = rows()
    x = MINUTES.encode_features(frame)
    (found,) = session.run(None, {"rows": x.astype(np.float32)})
    np.testing.assert_allclose(found, model.predict(frame), atol=240 * 1e-5, rtol=1e-5)
    assert session.get_modelmeta().custom_metadata_map["statement"].startswith("Privacy statement")
    # a graph that says something else is not written
    rule = kind.linear_rule
    monkeypatch.setattr(kind, "linear_rule", lambda self: (rule(self)[0] * 1.1, rule(self)[1]))
    elsewhere = tmp_path / "other.onnx"
    refused(
        run("export", tmp_path / "minutes.privet", "--to", "onnx", "--out", elsewhere),
        "something else",
    )
    assert not elsewhere.exists()


@pytest.mark.parametrize("link", ["identity", "exp", "expit"])
def test_onnxruntime_predicts_the_numbers_of_a_loss_of_ones_own(tmp_path: Path, link: str) -> None:
    from onnxruntime import InferenceSession

    own = PrivateERM(PureDP(3.0), loss=pseudo_huber(link=link))
    model = fit_table(own, MINUTES, census_table(600, seed=3))
    model.save(tmp_path / "minutes.privet")
    place = exported(tmp_path, "minutes", "onnx", tmp_path / "model.onnx")
    session = InferenceSession(str(place), providers=["CPUExecutionProvider"])
    frame, _ = rows()
    (found,) = session.run(None, {"rows": MINUTES.encode_features(frame).astype(np.float32)})
    np.testing.assert_allclose(found, model.predict(frame), atol=240 * 1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", ["onnx", "mlflow", "sklearn"])
def test_a_loss_of_several_scores_is_refused_in_words(tmp_path: Path, form: str) -> None:
    """It predicts nothing: one export wrote a folder without answers, one ended in an error."""
    own = PrivateERM(PureDP(3.0), loss=two_scores())
    fit_table(own, MINUTES, census_table(600, seed=3)).save(tmp_path / "two.privet")
    place = tmp_path / "out"
    told = run("export", tmp_path / "two.privet", "--to", form, "--out", place)
    refused(told, "several scores", "decision_function")
    assert not place.exists()
    with pytest.raises(DeclarationError, match="several scores"):
        served_file(tmp_path / "two.privet", rows=10)
    exported(tmp_path, "two", "card", tmp_path / "card.md")


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_mlflow_predicts_from_raw_columns(folder: Path, tmp_path: Path) -> None:
    import mlflow.pyfunc

    for name in ("logistic", "kernel", "minutes"):
        place = exported(folder, name, "mlflow", tmp_path / name)
        found = mlflow.pyfunc.load_model(str(place))
        model, (frame, _) = load(folder / f"{name}.privet"), rows()
        assert found.predict(frame).tolist() == model.predict(frame).tolist()
        assert found.metadata.metadata["sha256"] == HandedModel(folder / f"{name}.privet").digest
        assert "Privacy statement" in found.metadata.metadata["statement"]


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_alone_reads_and_predicts(folder: Path, name: str, tmp_path: Path) -> None:
    place = exported(folder, name, "sklearn", tmp_path / "model.joblib")
    assert b"privet." not in place.read_bytes().replace(b"privet.mechanisms", b"")
    plain = joblib.load(place)
    assert type(plain).__module__.startswith("sklearn.")
    model, (frame, x) = load(folder / f"{name}.privet"), rows()
    assert plain.predict(x).tolist() == model.predict(frame).tolist()
    assert plain.model_sha256_ == HandedModel(folder / f"{name}.privet").digest
    assert json.loads(plain.guarantee_) == model.guarantee_.to_json()


@pytest.mark.parametrize("name", [*MODELS, "kernel", "minutes"])
def test_the_registry_would_take_the_entry(folder: Path, name: str, tmp_path: Path) -> None:
    options = ["--curator", "Ward 7", "--region", "Bavaria", "--use", "Planning of beds"]
    options += ["--sector", "Healthcare", "--author", "A. Officer"]
    place = exported(folder, name, "registry", tmp_path / "entry.yaml", *options)
    entry = yaml.safe_load(place.read_text())
    assert faults(entry) == []
    assert gaps(entry) == []
    parameters = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    budget = load(folder / f"{name}.privet").guarantee_.budget.facts()
    for key, value in parameters.items():
        assert value >= budget.get(key, 0.0)
    assert HandedModel(folder / f"{name}.privet").digest in place.read_text()


VARIANTS = {"logistic": "Pure DP", "unit": "Zero-concentrated DP", "whiten": "Approximate DP"}


@pytest.mark.parametrize("name", [*VARIANTS, "gdp"])
def test_the_registry_can_be_read_by_people(folder: Path, name: str, tmp_path: Path) -> None:
    place = exported(folder, name, "registry", tmp_path / "entry.yaml")
    entry = yaml.safe_load(place.read_text())["deployment"]
    assert entry["dp_variant"]["variant_name"] == VARIANTS.get(name, "Custom")
    domain, notes = entry["dp_variant"]["data_domain"], entry["administrative"]["notes"]
    assert "Columns: age, schooling" in domain
    assert "SHA-256" not in domain  # that is not what the domain is
    assert f"SHA-256: {HandedModel(folder / f'{name}.privet').digest}." in notes
    declared = entry["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assumed = load(folder / f"{name}.privet").guarantee_.assumptions
    assert all(" ".join(each.split()) in " ".join(declared.split()) for each in assumed)


def test_what_nobody_said_is_marked_and_named(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "entry.yaml"
    done = run("export", folder / "logistic.privet", "--to", "registry", "--out", place)
    assert done.exit_code == 0
    assert "basic.data_curators" in done.stderr
    assert "intended_use" in done.stderr
    entry = yaml.safe_load(place.read_text())
    assert len(gaps(entry)) == 4
    assert faults(entry) == []


def whole() -> dict[str, Any]:
    """The smallest entry of tier 1."""
    basic = {
        "name": "n",
        "data_curators": ["c"],
        "description": "d",
        "intended_use": "u",
        "data_product_type": "Dataset",
        "data_product_region": "r",
        "publication_date": "2026-11-17",
    }
    return {"url_slug": "s", "status": "Draft", "tier": 1, "deployment": {"basic": basic}}


def test_the_checker_takes_the_list_and_nothing_else() -> None:
    assert faults(whole()) == []
    for key in whole()["deployment"]["basic"]:
        entry = whole()
        del entry["deployment"]["basic"][key]
        assert faults(entry) == [f"basic.{key}: missing"]
    for change in (
        {"status": "New"},
        {"tier": 4},
        {"tier": True},
        {"url_slug": ""},
        {"more": 1},
        {"deployment": {**whole()["deployment"], "other": {}}},
        {"deployment": {"basic": {**whole()["deployment"]["basic"], "extra": "x"}}},
        {"deployment": {"basic": {**whole()["deployment"]["basic"], "data_curators": []}}},
        {"deployment": {"basic": {**whole()["deployment"]["basic"], "publication_date": "today"}}},
        {"deployment": {**whole()["deployment"], "administrative": {"notes": "x"}}},
    ):
        assert faults({**whole(), **change}), change
    second = {**whole(), "tier": 2}
    wanted = [f"{b}.{k}" for b, fields in FIELDS.items() for k, f in fields.items() if f.tier == 2]
    assert faults(second) == [f"{name}: missing" for name in wanted]
    assert gaps({"a": {"b": [f"{OPEN}: x)"]}}) == ["a.b"]


def test_the_card_has_front_matter_and_the_statement(folder: Path, tmp_path: Path) -> None:
    place = exported(folder, "logistic", "card", tmp_path / "card.md")
    _, front, body = place.read_text().split("---\n", 2)
    told = yaml.safe_load(front)
    assert told["privacy"]["parameters"] == {"epsilon": 3.0}
    assert told["sha256"] == HandedModel(folder / "logistic.privet").digest
    assert told["pipeline_tag"] == "tabular-classification"
    for section in HandedModel(folder / "logistic.privet").facts.sections:
        assert f"## {section.title}" in body
    assert body.count("| holds |") > 5  # computed a second time
    number = exported(folder, "minutes", "card", tmp_path / "number.md").read_text()
    assert yaml.safe_load(number.split("---\n")[1])["pipeline_tag"] == "tabular-regression"


def test_a_plain_regression_predicts_within_its_bounds(folder: Path, tmp_path: Path) -> None:
    place = exported(folder, "minutes", "sklearn", tmp_path / "minutes.joblib")
    code = (
        "import joblib, sys, numpy as np\n"
        "sys.modules['privet'] = None\n"  # it is read without Privet
        f"m = joblib.load({str(place)!r})\n"
        "x = np.random.default_rng(0).normal(size=(200, m.n_features_in_))\n"
        "p = m.predict(1e6 * x)\n"
        "assert p.min() == 0.0 and p.max() == 240.0\n"
        "print(m.model_sha256_, len(m.statement_) > 500)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [HandedModel(folder / "minutes.privet").digest, "True"]
    table = census_table(300, seed=9)
    frame = pd.DataFrame({name: table[name] for name in MINUTES.columns})
    kept = HandedModel(folder / "minutes.privet").last
    encoded = MINUTES.encode_features(frame)
    np.testing.assert_allclose(joblib.load(place).predict(encoded), kept.predict(encoded))


def test_force_replaces_what_an_export_wrote_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    command = ["export", folder / "logistic.privet", "--to", "mlflow", "--force", "--out"]
    exported(folder, "svm", "mlflow", tmp_path / "made")
    assert run(*command, tmp_path / "made").exit_code == 0
    foreign, empty, file = tmp_path / "mine", tmp_path / "empty", tmp_path / "file"
    foreign.mkdir()
    (foreign / "MLmodel").write_text("loader_module: mlflow.sklearn\n")
    empty.mkdir()
    file.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "made")
    for place in (foreign, empty, file, tmp_path / "link"):
        refused(run(*command, place), "does not remove it")
    assert (foreign / "MLmodel").exists()
    assert file.read_text() == "mine"


def test_what_has_no_plain_form_is_refused_and_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    for form in ("onnx", "sklearn"):
        place = tmp_path / f"out-{form}"
        refused(run("export", folder / "kernel.privet", "--to", form, "--out", place), "not linear")
        assert not place.exists()
    (tmp_path / "there").write_text("mine")
    refused(run("export", folder / "svm.privet", "--to", "onnx", "--out", tmp_path / "there"))
    assert (tmp_path / "there").read_text() == "mine"


def test_a_plain_model_that_differs_is_not_handed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = HandedModel(folder / "unit.privet")
    rule = released.last.linear_rule()
    monkeypatch.setattr(type(released.last), "linear_rule", lambda self: (-rule[0], rule[1]))
    with pytest.raises(DeclarationError, match="something else"):
        plain_model(released)
