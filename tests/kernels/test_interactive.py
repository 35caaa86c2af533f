"""The interactive predictor: one charge, one noise per query, and a transcript without rows."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from privet import ZCDP, ApproxDP, Ledger, PureDP
from privet.errors import BudgetExceeded, DataError, DeclarationError, PrivetWarning
from privet.kernels import (
    Gaussian,
    InteractivePredictor,
    Linear,
    Polynomial,
    Spectrum,
    SuppliedKernel,
    load_transcript,
)
from tests.kernels.people import holds_a_row, longest_list, queries, table

KERNEL = Gaussian(0.5)
X, Y = table()
Z = queries()


def predictor(**changed: Any) -> InteractivePredictor:
    told: dict[str, Any] = {"kernel": KERNEL, "budget": ZCDP(5.0), "regularization": 0.01}
    return InteractivePredictor(**{**told, "classes": [0, 1], **changed})


def sparse(**changed: Any) -> InteractivePredictor:
    return predictor(**{"budget": 500.0, "mechanism": "sparse_vector", "queries": 100, **changed})


def test_equal_queries_have_equal_answers_in_any_batch() -> None:
    model = predictor().fit(X, Y)
    first = model.answer(Z)
    assert (model.answer(Z[::-1]) == first[::-1]).all()
    assert (model.answer(np.repeat(Z[:1], 3, axis=0)) == first[0]).all()
    assert model.answer(np.concatenate([Z + 1.0, Z]))[len(Z) :] == pytest.approx(first, abs=0)
    zero = np.zeros((1, 3))
    assert model.answer(zero) == model.answer(-zero)  # a zero has no sign
    assert len(model.transcript_) == 2 * len(Z) + 1


def test_it_learns_and_says_how_noisy_it_is() -> None:
    x, y = table(1200)
    model = predictor(budget=ZCDP(20.0), regularization="auto").fit(x, y)
    assert model.noise_sd_ == pytest.approx(0.1, rel=0.01)
    assert (model.predict(x[:300]) == y[:300]).mean() > 0.7
    assert "idealized numerics" in model.guarantee_.numerics
    assert "Hall" in model.statement()
    assert str(model.guarantee_.budget) == str(ZCDP(20.0))


def test_two_releases_share_no_noise_and_a_seed_repeats_none_within_one() -> None:
    one, two = (predictor().fit(X, Y).answer(Z) for _ in range(2))
    assert (one != two).all()
    model = predictor(insecure_seed=3).fit(X, Y)
    exact = predictor(budget=ZCDP(1000.0), insecure_seed=3).fit(X, Y)
    far = np.array([[50.0, 0.0, 0.0], [0.0, 50.0, 0.0]])  # predictions are zero: noise alone
    noises = [float(model.answer(far[i : i + 1])[0]) for i in range(2)]
    assert noises[0] != noises[1]
    assert not model.guarantee_.private
    assert not exact.guarantee_.private


@pytest.mark.parametrize("make", [predictor, sparse])
def test_the_file_holds_no_row_and_resumes(make: Any, tmp_path: Path) -> None:
    model = make().fit(X, Y)
    said = model.answer(Z)
    model.save(tmp_path / "t")
    text = (tmp_path / "t").read_text()
    assert not holds_a_row(text, X)
    assert longest_list(tmp_path / "t") < len(Y)
    assert str(float(said[0])) in text  # the search finds what is there
    alone = InteractivePredictor.load(tmp_path / "t")
    assert (alone.answer(Z) == said).all()
    assert alone.guarantee_ == model.guarantee_
    with pytest.raises(DeclarationError, match=r"resume\(X, y"):
        alone.answer(Z + 1.0)
    again = make().resume(X, Y, tmp_path / "t")
    assert (again.answer(Z) == said).all()
    assert again.answer(Z + 1.0).shape == (len(Z),)
    assert again.guarantee_ == model.guarantee_


def test_a_resumed_path_is_the_same_path(tmp_path: Path) -> None:
    """Near-copies of answered queries get nearly the same answers: no second noise."""
    model = predictor(budget=ZCDP(0.01)).fit(X, Y)
    said = model.answer(Z)
    model.save(tmp_path / "t")
    again = predictor(budget=ZCDP(0.01)).resume(X, Y, tmp_path / "t")
    near = again.answer(Z + 1e-8)
    assert np.abs(near - said).max() < 0.1 * model.noise_sd_
    other = predictor(budget=ZCDP(0.01)).fit(X, Y).answer(Z + 1e-8)
    assert np.abs(other - said).max() > 0.2 * model.noise_sd_  # a new path is far


def test_resume_refuses_other_rows_and_declarations(tmp_path: Path) -> None:
    model = predictor().fit(X, Y)
    model.answer(Z)
    with pytest.raises(DataError, match="of 150 rows, these are 149"):
        predictor().resume(X[1:], Y[1:], model.transcript_)
    for changed in (
        {"kernel": Gaussian(0.4)},
        {"budget": ZCDP(4.0)},
        {"regularization": 0.02},
        {"loss": "huber"},
        {"classes": [1, 0, 2]},
    ):
        with pytest.raises(DeclarationError):
            predictor(**changed).resume(X, Y, model.transcript_)


def test_a_changed_transcript_is_refused(tmp_path: Path) -> None:
    model = predictor().fit(X, Y)
    said = model.answer(Z)
    model.save(tmp_path / "t")
    text = (tmp_path / "t").read_text()
    (tmp_path / "t").write_text(text.replace(str(float(said[0])), "0.5"))
    with pytest.raises(DataError, match="damaged"):
        load_transcript(tmp_path / "t")
    (tmp_path / "t").write_text("")
    with pytest.raises(DataError, match="not a file of released answers"):
        load_transcript(tmp_path / "t")


def test_a_journal_is_written_before_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    model = predictor(journal=path).fit(X, Y)
    said = model.answer(Z[:5])
    assert (InteractivePredictor.load(path).answer(Z[:5]) == said).all()
    more = model.answer(Z)
    again = predictor(journal=path).resume(X, Y, path)
    assert (again.answer(Z) == more).all()
    again.answer(Z + 1.0)
    # the first one must not go on beside it: it would answer with a second noise
    for _ in range(2):
        with pytest.raises(DataError, match="Another predictor has continued"):
            model.answer(Z + 2.0)
    with pytest.raises(DeclarationError, match="exists already"):
        predictor(journal=path).fit(X, Y)
    assert not holds_a_row(path.read_text(), X)


@pytest.mark.parametrize("make", [predictor, sparse])
def test_the_predictor_is_neither_pickled_nor_copied(make: Any) -> None:
    model = make().fit(X, Y)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="training rows"):
            way(model)
    clone(model)  # declarations only
    pickle.dumps(make())
    kept = [name for name in vars(model) if name.endswith("_")]
    assert sorted(kept) == ["classes_", "guarantee_", "n_features_in_", "regularization_"]
    pickle.dumps(model.transcript_)  # public


def test_one_reservation_whatever_is_asked(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ZCDP(6.0))
    model = predictor(ledger=ledger, dataset="people").fit(X, Y)
    for i in range(5):
        model.answer(Z + i)
    assert [entry.kind for entry in ledger.entries("people")] == ["open", "reserve", "settle"]
    assert model.guarantee_.receipt is not None
    assert not any(holds_a_row(line, X) for line in ledger.export())
    model.save(tmp_path / "t")
    predictor(ledger=ledger, dataset="people").resume(X, Y, tmp_path / "t").answer(Z + 9.0)
    assert ledger.remaining("people") == pytest.approx(1.0)
    with pytest.raises(BudgetExceeded):
        predictor(ledger=ledger, dataset="people").fit(X, Y)


def test_kernels_of_finite_rank_release_one_vector(tmp_path: Path) -> None:
    for kernel in (Linear(2.0), Polynomial(2, norm_bound=2.0)):
        for budget in (PureDP(5.0), ApproxDP(1.0, 1e-6)):
            model = predictor(kernel=kernel, budget=budget).fit(X, Y)
            said = model.answer(Z)
            assert len(model.transcript_) == 0  # no history
            assert model.answer(Z[::-1])[::-1] == pytest.approx(said, rel=1e-12)
            model.save(tmp_path / "t", overwrite=True)
            alone = InteractivePredictor.load(tmp_path / "t")  # and no row is needed to go on
            assert alone.answer(Z + 1.0) == pytest.approx(model.answer(Z + 1.0), rel=1e-12)
            assert not holds_a_row((tmp_path / "t").read_text(), X)
            assert alone.guarantee_.budget == budget
            pickle.dumps(model)


def test_strings_and_supplied_kernels() -> None:
    words = ["abab", "aaab", "bbab", "baba", "bbbb", "aabb"] * 10
    labels = ["yes" if "bab" in word else "no" for word in words]
    told = {"classes": ["no", "yes"], "budget": ZCDP(50.0)}
    model = predictor(kernel=Spectrum(2), **told).fit(words, labels)
    assert (model.answer(["abab", "abab"]) == model.answer(["abab"])).all()
    assert set(model.predict(["babab", "aaaa"])) <= {"no", "yes"}

    def shared(a: Any, b: Any) -> Any:
        return np.array([[float(len(set(s) & set(t))) for t in b] for s in a])

    model = predictor(kernel=SuppliedKernel(shared, 26.0), **told).fit(words, labels)
    assert np.isfinite(model.answer(["ab", "c"])).all()
    with pytest.raises(DeclarationError, match="supplied kernel"):
        model.save("nowhere")


def test_the_sparse_vector_says_when_it_is_exhausted() -> None:
    model = sparse(budget=60.0, loss="huber", regularization=0.5).fit(X, Y)
    design = model.sparse_vector_
    machine = model._curator.session._machine  # type: ignore[union-attr]
    machine.used, machine._level = design.epochs, None
    with pytest.warns(PrivetWarning, match="guesses from now on"):
        said = model.answer(Z)
    assert (said == 0.0).all()
    assert model.updates_ <= design.epochs


def test_the_sparse_vector_keeps_its_promise_and_resumes_its_guess(tmp_path: Path) -> None:
    model = sparse().fit(X, Y)
    said = model.answer(Z)
    assert model.updates_ <= model.sparse_vector_.epochs
    assert not model.exhausted_
    exact = predictor(budget=ZCDP(1000.0)).fit(X, Y).answer(Z)
    assert np.abs(said - exact).max() <= model.sparse_vector_.error  # with much room
    model.save(tmp_path / "t")
    again = sparse().resume(X, Y, tmp_path / "t")
    assert again._curator.session._machine.used == model._curator.session._machine.used  # type: ignore[union-attr]
    assert (
        again._curator.session._guess(Z[:1])
        == pytest.approx(  # type: ignore[union-attr]
            model._curator.session._guess(Z[:1])  # type: ignore[union-attr]
        )
    )


def test_wrong_use_is_refused_before_a_charge(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.open("people", ZCDP(100.0))
    bad = np.array(X)
    bad[3, 1] = np.nan
    charged = {"ledger": ledger, "dataset": "people"}
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (X, Y, {"budget": 1.0, "mechanism": "function"}, "sparse_vector"),
        (X, Y, {"mechanism": "magic"}, "mechanism must be"),
        (X, Y, {"loss": "hinge"}, "loss must be"),
        (X, Y, {"regularization": -1.0}, "regularization"),
        (X, Y, {"classes": [0, 1, 2]}, "two classes"),
        (bad, Y, {}, "NaN|finite"),
        (X, Y, {"mechanism": "sparse_vector", "queries": 0}, "queries"),
        (X, Y, {"mechanism": "sparse_vector", "failure_probability": 2.0}, "failure_probability"),
    ]
    for x, y, changed, words in cases:
        with pytest.raises((DeclarationError, DataError), match=words):
            predictor(**charged, **changed).fit(x, y)
    assert [entry.kind for entry in ledger.entries("people")] == ["open"]
    with pytest.raises(DataError, match="outside the declared classes"):
        predictor(**charged).fit(X, np.where(np.arange(len(Y)) == 3, 7, Y))
    assert [entry.kind for entry in ledger.entries("people")] == ["open", "reserve"]
    with pytest.raises(DataError, match="NaN"):
        predictor().fit(X, Y).answer(bad[3:4])


def test_the_documentations_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "kernel-answers.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 5
    for example in examples:
        exec(compile(example, "kernel-answers.md", "exec"), {})
    assert "function release" in capsys.readouterr().out
