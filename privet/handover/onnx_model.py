"""A released linear model as an ONNX graph: encoded rows in, predictions out.

skl2onnx converts the plain estimator; onnxruntime then predicts made-up rows, and nothing is
written unless it says what the model says. Rows are in single precision, as most graphs take them.
Metadata carries statement, schema and digest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from privet._files import write_whole
from privet.errors import DeclarationError, MissingExtra
from privet.handover.handed_model import HandedModel
from privet.handover.onnx_regression import regression_graph, same_numbers
from privet.handover.plain_model import drawn_rows, plain_model

#: The ONNX operators' version that is asked for: runtimes of 2023 and later have it.
OPSET = {"": 18, "ai.onnx.ml": 3}


def onnx_graph(released: HandedModel) -> bytes:
    """The graph, after it was compared with the model."""
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as error:
        raise MissingExtra("ONNX needs skl2onnx and onnxruntime: install privet[onnx].") from error
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
        raise MissingExtra("ONNX needs onnxruntime to compare: privet[onnx].") from error
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
