"""A released regression as an ONNX graph: encoded rows in, numbers in the target's units out.

    linear, Huber    predictions = clip(rows w + b, low, high)
    Poisson          predictions = min(exp(min(rows w + b, log largest)), largest)

scikit-learn's regressors know no bounds, so the graph is written here, operator by operator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privet.errors import DeclarationError
from privet.handover.handed_model import HandedModel
from privet.handover.plain_model import drawn_rows
from privet.models import PoissonRegressor
from privet.models.regressor import PrivateLinearRegressor

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
    weights, offset = model.linear_rule()  # refuses what is not linear in its columns
    low, high = (float(each) for each in model.classes_)
    constants = {"weights": weights.T, "offset": offset, "low": low, "high": high, "axis": [1]}
    steps = [("Gemm", ["rows", "weights", "offset"], "score")]
    if isinstance(model, PoissonRegressor):
        constants["logarithm"] = math.log(high)
        steps += [("Min", ["score", "logarithm"], "bounded"), ("Exp", ["bounded"], "rate")]
        steps += [("Min", ["rate", "high"], "number")]
    else:
        steps += [("Clip", ["score", "low", "high"], "number")]
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
