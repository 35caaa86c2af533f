"""Files that would keep ``verify`` busy for hours: it ends on them, and accepts none.

Each was found to run for longer than 20 seconds, most of them for ever; now they take milliseconds
to three seconds. They run in a process of their own, which is ended where that is not so.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import pytest

from tests.certificate.mutants import Parsed, accepted
from tests.certificate.test_forged import opened

#: Seconds, on any machine.
LONGEST = 120.0
Forge = Callable[[dict[str, Any]], None]


def blocks(widths: list[int]) -> Forge:
    made = [{"kind": "one-hot", "missing": False, "size": 1.0, "width": width} for width in widths]
    return lambda header: header["parameters"]["domain"].update(blocks=made)


def unlike(header: dict[str, Any]) -> None:
    """Blocks that might all have noise of their own."""
    sizes = [1.0 / (3.0 + i) for i in range(8_000)]
    made = [{"kind": "box", "size": size, "width": 1} for size in sizes]
    header["parameters"]["domain"].update(blocks=made)


def classes(header: dict[str, Any]) -> None:
    header["classes"]["values"] = list(range(100_000))


def weights(header: dict[str, Any]) -> None:
    header["parameters"]["class_weight"] = [[label, 1.0] for label in range(100_000)]


def monomials(header: dict[str, Any]) -> None:
    kernel = {"name": "polynomial", "degree": 10**9, "coef0": 1.0, "gamma": 1.0, "norm_bound": 1.0}
    header["declarations"].update(kernel=kernel, columns=10**9)


def curves(header: dict[str, Any]) -> None:
    part = header["guarantee"]["event"]["parts"][1]
    part["curves"] = part["curves"] * 50_000
    part["claim"] = {"kind": "approx", "epsilon": 1.0, "delta": 1e-6}


def parts(header: dict[str, Any]) -> None:
    event = header["guarantee"]["event"]
    event["parts"] = event["parts"][:1] * 20_000


def scores(header: dict[str, Any]) -> None:
    """The largest singular value of the weights of 300 classes."""
    header["guarantee"]["constants"]["loss"] = {"name": "softmax", "n_classes": 300}
    header["geometry"].update(classes=[str(c) for c in range(300)], scores=[[0.0] * 299] * 300)
    header["theta"] = [((7 * i) % 11) / 11.0 for i in range(4 * 299)]


def maps(header: dict[str, Any]) -> None:
    """A sentence that begins again and again."""
    header["guarantee"]["assumptions"].append("the feature map (" * 60_000)


def kernels(header: dict[str, Any]) -> None:
    header["guarantee"]["assumptions"].append("the kernel, K(" + "a=1" * 200_000)


def schema(header: dict[str, Any]) -> None:
    header["schema"] = "a = [" + "1," * 10_000_000 + "]"


ENDLESS: dict[str, tuple[str, Forge]] = {
    "a wide block": ("logistic hull pure", blocks([20_000])),
    "many blocks": ("logistic hull pure", blocks([30] * 300)),
    "blocks of many sizes": ("logistic hull pure", blocks(list(range(1, 63)))),
    "blocks that differ": ("logistic grouped pure", unlike),
    "many classes": ("logistic objective pure", classes),
    "many weights": ("logistic weighted", weights),
    "monomials": ("function vector", monomials),
    "many curves": ("logistic standardized zcdp", curves),
    "many parts": ("evaluate approx", parts),
    "many scores": ("intervals zcdp", scores),
    "many maps in words": ("kernel svc", maps),
    "a long kernel in words": ("kernel svc", kernels),
    "a long schema": ("logistic objective pure", schema),
}


def ends_badly(file: Parsed) -> None:
    """In a process of its own: ends with 0 where the file is refused."""
    raise SystemExit(accepted(file))


@pytest.mark.parametrize("name", ENDLESS)
def test_verify_ends_and_accepts_nothing(name: str) -> None:
    release, forge = ENDLESS[name]
    file = opened(release)
    forge(file.lines[0])
    process = multiprocessing.get_context("fork").Process(target=ends_badly, args=(file,))
    process.start()
    process.join(LONGEST)
    code = process.exitcode
    process.kill()
    process.join()
    assert code == 0
