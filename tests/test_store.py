"""Model files: what goes in comes out, and nothing else is believed."""

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import numpy as np
import pytest

from privet import ZCDP, LogisticRegression, load, save
from privet.errors import DataError, DeclarationError
from privet.kernels.estimators import KERNEL_MODELS
from privet.kernels.kernel_regression import KernelHuberRegressor
from privet.models import MODELS, REGRESSORS, PrivateERM
from privet.models.classifier import PrivateLinearClassifier
from privet.models.model_file import HOMES, MAGIC
from tests.models.tables import MODEL_CLASSES, three_classes, two_classes


def saved(tmp_path: Path, **options: Any) -> tuple[LogisticRegression, Path]:
    x, y = two_classes()
    model = LogisticRegression(1.0, **options).fit(x, y)
    path = tmp_path / "model.privet"
    model.save(path, overwrite=True)
    return model, path


def rewritten(path: Path, change: Callable[[dict[str, Any], bytes], bytes]) -> None:
    """The same file with a changed header and a digest that fits again."""
    raw = path.read_bytes()[:-32]
    start = len(MAGIC) + 8
    length = int.from_bytes(raw[len(MAGIC) : start], "little")
    header = json.loads(raw[start : start + length])
    arrays = change(header, raw[start + length :])
    text = json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + arrays
    path.write_bytes(body + hashlib.sha256(body).digest())


@pytest.mark.parametrize("model_class", MODEL_CLASSES)
def test_round_trip(tmp_path: Path, model_class: type[PrivateLinearClassifier]) -> None:
    x, y = three_classes()
    model = model_class(ZCDP(0.5), classes=["a", "b", "c"], class_weight={"a": 2.0}).fit(x, y)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert type(back) is type(model)
    assert back.guarantee_ == model.guarantee_
    assert np.array_equal(back.coef_, model.coef_)
    assert np.array_equal(back.predict(x), model.predict(x))
    assert back.statement() == model.statement()
    assert back.get_params()["class_weight"] == {"a": 2.0}
    assert os.listdir(tmp_path) == ["m"]


def test_a_file_from_before_the_constant_was_declared_has_the_norm_bound(tmp_path: Path) -> None:
    """Its intercept, its scores and the row length that its noise paid for stay what they were."""
    model, path = saved(tmp_path, constant=1.0)

    def older(header: dict[str, Any], raw: bytes) -> bytes:
        assert header["parameters"].pop("constant") == 1.0
        return raw

    rewritten(path, older)
    read = load(path)
    assert read.constant == 1.0
    assert read.intercept_ == model.intercept_
    event = model.guarantee_.event
    again = read.planned(event.n, event.columns - 1)
    assert again.event.sensitivity == event.sensitivity


def test_a_new_file_keeps_its_constant(tmp_path: Path) -> None:
    _, path = saved(tmp_path, constant=0.25)
    assert load(path).constant == 0.25


def test_a_seeded_model_stays_stamped(tmp_path: Path) -> None:
    _, path = saved(tmp_path, insecure_seed=1)
    assert not load(path).guarantee_.private


def test_12_every_truncation_is_refused(tmp_path: Path) -> None:
    _, path = saved(tmp_path)
    raw = path.read_bytes()
    for length in [*range(64), *range(64, len(raw), 37), len(raw) - 1]:
        path.write_bytes(raw[:length])
        with pytest.raises(DataError):
            load(path)


def test_12_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    _, path = saved(tmp_path)
    raw = path.read_bytes()
    for position in range(0, len(raw), 11):
        path.write_bytes(raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :])
        with pytest.raises(DataError):
            load(path)


class Bomb:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("exploded",))


def test_12_pickles_and_strangers_are_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for content in (pickle.dumps(Bomb()), b"", b"\x00" * 100, MAGIC, b"PRIVET\x02\n" + b"\0" * 99):
        path = tmp_path / "odd"
        path.write_bytes(content)
        with pytest.raises(DataError):
            load(path)
    assert not (tmp_path / "exploded").exists()


def test_12_headers_that_lie_are_refused(tmp_path: Path) -> None:
    def huge(header: dict[str, Any], raw: bytes) -> bytes:
        header["arrays"]["coef_"] = [1 << 40, 1 << 20]
        return raw

    def not_a_number(header: dict[str, Any], raw: bytes) -> bytes:
        return np.full(len(raw) // 8, np.nan).tobytes()

    def other_model(header: dict[str, Any], raw: bytes) -> bytes:
        header["model"] = "Popen"
        return raw

    def version(header: dict[str, Any], raw: bytes) -> bytes:
        header["guarantee"]["event"]["version"] = 99
        return raw

    def negative(header: dict[str, Any], raw: bytes) -> bytes:
        header["arrays"] = {"coef_": [-1, -3], "intercept_": [1]}
        return raw

    def objects(header: dict[str, Any], raw: bytes) -> bytes:
        header["classes"]["dtype"] = "|O"
        return raw

    def extra(header: dict[str, Any], raw: bytes) -> bytes:
        header["parameters"]["surprise"] = 1
        return raw

    def misfit(header: dict[str, Any], raw: bytes) -> bytes:
        header["arrays"] = {"coef_": [3, 1], "intercept_": [1]}
        return raw

    for change in (huge, not_a_number, other_model, version, negative, objects, extra, misfit):
        _, path = saved(tmp_path)
        rewritten(path, change)
        with pytest.raises(DataError):
            load(path)


def test_a_file_may_name_every_model_and_no_other() -> None:
    others = {"PrivateERM": PrivateERM, "KernelHuberRegressor": KernelHuberRegressor}
    models = {**MODELS, **REGRESSORS, **KERNEL_MODELS, **others}
    assert {name: kind.__module__ for name, kind in models.items()} == HOMES


def test_a_class_derived_from_a_model_is_not_saved_as_the_model(tmp_path: Path) -> None:
    class Derived(LogisticRegression):
        """Predicts by code of its own, which a file cannot hold."""

    x, y = two_classes(200)
    for name in ("Derived", "LogisticRegression"):
        Derived.__name__ = name
        with pytest.raises(DeclarationError, match="not a model that Privet can save"):
            save(Derived(9.0).fit(x, y), tmp_path / "model")


def test_only_fitted_models_of_privet_are_saved(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError):
        save({"coef_": 1}, tmp_path / "x")
    with pytest.raises(ValueError, match="not fitted"):
        save(LogisticRegression(), tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_11_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = saved(tmp_path)
    old = path.read_bytes()

    def full(_descriptor: int) -> Never:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        model.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]
