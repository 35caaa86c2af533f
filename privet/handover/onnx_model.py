"""A released linear model as an ONNX graph: encoded rows in, predictions out.

skl2onnx converts the plain estimator; onnxruntime then predicts made-up rows, and nothing is
written unless it says what the model says. Rows are in single precision, as most graphs take them.
Metadata carries statement, schema and digest.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from privet._files import write_whole
from privet.errors import DeclarationError, MissingExtra
from privet.handover.handed_model import HandedModel
from privet.handover.plain_model import drawn_rows, plain_model
from privet.models.regressor import PrivateLinearRegressor

# A released regression as an ONNX graph: encoded rows in, numbers in the target's units out.
#
#     linear, Huber    predictions = clip(rows w + b, low, high)
#     Poisson          predictions = clip(exp(min(rows w + b, log largest)), 0, largest)
#     a user's loss    the same, or clip(low + (high - low) sigmoid(rows w + b), low, high)
#
# scikit-learn's regressors know no bounds, so the graph is written here, operator by operator.

#: The format's version that goes with the operators of 2023.
FORMAT_VERSION = 9
#: How far single precision may be off, as a share of the target's interval.
TOLERANCE = 1e-5


def regression_graph(released: HandedModel, opset: int) -> Any:
    """The graph of a linear regression, without metadata."""
    from onnx import TensorProto, helper, numpy_helper

    model = released.last
    if released.stepped or not isinstance(model, PrivateLinearRegressor):
        raise DeclarationError(
            f"There is no ONNX graph of a {type(model).__name__} here: it is for linear models. "
            "Export it to MLflow, which takes the model file itself."
        )
    model.refuse_unscored()
    weights, offset = model.linear_rule()  # refuses what is not linear in its columns
    low, high = (float(each) for each in model.classes_)
    constants = {"weights": weights.T, "offset": offset, "low": low, "high": high, "axis": [1]}
    steps = [("Gemm", ["rows", "weights", "offset"], "score")]
    linked = "score"
    if model.plain_link == "exp":
        constants["logarithm"] = math.log(high)
        steps += [("Min", ["score", "logarithm"], "bounded"), ("Exp", ["bounded"], "rate")]
        linked = "rate"
    elif model.plain_link == "expit":
        constants["width"] = high - low
        steps += [("Sigmoid", ["score"], "share"), ("Mul", ["share", "width"], "part")]
        steps += [("Add", ["part", "low"], "between")]
        linked = "between"
    steps += [("Clip", [linked, "low", "high"], "number")]
    steps += [("Squeeze", ["number", "axis"], "predictions")]
    used = {name for _, inputs, _ in steps for name in inputs}
    stored = [
        numpy_helper.from_array(np.asarray(value, np.int64 if name == "axis" else np.float32), name)
        for name, value in constants.items()
        if name in used
    ]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [out]) for kind, inputs, out in steps],
        "privet",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, weights.shape[1]])],
        [helper.make_tensor_value_info("predictions", TensorProto.FLOAT, [None])],
        stored,
    )
    sets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=sets, ir_version=FORMAT_VERSION)


def same_numbers(session: Any, released: HandedModel) -> bool:
    """Whether the graph says of made-up rows what the model says."""
    x = drawn_rows(released)
    low, high = released.last.classes_
    (found,) = session.run(None, {"rows": x.astype(np.float32)})
    expected = released.last.predict(x)
    return bool(np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE * (high - low)))


#: The ONNX operators' version that is asked for: runtimes of 2023 and later have it.
OPSET = {"": 18, "ai.onnx.ml": 3}


def onnx_graph(released: HandedModel) -> bytes:
    """The graph, after it was compared with the model."""
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as error:
        raise MissingExtra(
            "ONNX needs skl2onnx and onnxruntime: pip install 'privet[onnx]'."
        ) from error
    numbers = released.is_regression
    plain: Any = None if numbers else plain_model(released)
    if numbers:
        graph = regression_graph(released, OPSET[""])
    else:
        options = {id(plain): {"zipmap": False}} if hasattr(plain, "predict_proba") else None
        graph = to_onnx(
            plain,
            initial_types=[("rows", FloatTensorType([None, plain.n_features_in_]))],
            options=options,
            target_opset=OPSET,
        )
    told = {
        "statement": released.statement,
        "schema": released.schema.to_toml(),
        "model_sha256": released.digest,
        "rows": "encoded by the schema: Schema.encode_features",
    }
    for key, text in told.items():
        graph.metadata_props.add(key=key, value=text)
    raw = bytes(graph.SerializeToString())
    session = _session(raw)
    same = same_numbers(session, released) if numbers else _same_classes(session, plain, released)
    if not same:
        raise DeclarationError("The graph would predict something else; nothing was written.")
    return raw


def _session(raw: bytes) -> Any:
    try:
        from onnxruntime import InferenceSession
    except ImportError as error:
        raise MissingExtra(
            "ONNX needs onnxruntime to compare: pip install 'privet[onnx]'."
        ) from error
    return InferenceSession(raw, providers=["CPUExecutionProvider"])


def _same_classes(session: Any, plain: Any, released: HandedModel) -> bool:
    x = drawn_rows(released)
    labels, values, *_ = session.run(None, {"rows": x.astype(np.float32)})
    # in single precision a class may differ where the score is next to nothing
    scores = np.asarray(plain.decision_function(x)).reshape(len(x), -1)
    clear = np.sort(np.abs(scores), axis=1)[:, 0] > 1e-4
    if scores.shape[1] > 1:
        top = np.sort(scores, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-4
    same = bool((np.asarray(labels) == plain.predict(x))[clear].all())
    if same and hasattr(plain, "predict_proba"):
        same = np.allclose(values, plain.predict_proba(x), atol=1e-5)
    return same


def write_onnx(released: HandedModel, out: Path, *, replace: bool) -> None:
    """All or nothing."""
    write_whole(out, onnx_graph(released), replace=replace)
