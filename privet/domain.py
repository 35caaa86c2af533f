"""The declared domain of rows: which vectors a row can be, whatever the table holds.

    Box(width, size)       each of ``width`` numbers is between ``-size`` and ``size``
    OneHot(width, size)    exactly one of ``width`` columns is ``size``, the others are 0;
                           with ``missing=True`` all of them may be 0; with ``between=True``
                           two columns side by side may share the size
    Domain(blocks)         blocks side by side, in the order of the columns

A domain is public: it is named without looking at the rows, and rows that are not in it are put
into it one by one (``rows/inside.py``). Noise may then be shaped by it (``domain_noise.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet._checks import number_between, positive_whole
from privet.errors import DeclarationError

SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class Box:
    """``width`` numbers, each between ``-size`` and ``size``.

    Parameters
    ----------
    width : int, default 1
        How many columns.
    size : float, default 1.0
        The largest absolute value; numbers beyond it are moved to it.
    """

    width: int = 1
    size: float = 1.0

    def __post_init__(self) -> None:
        _check(self)

    @property
    def squared_norm(self) -> float:
        """The largest squared Euclidean norm."""
        return self.width * self.size**2


@dataclass(frozen=True)
class OneHot:
    """One of ``width`` categories: its column is ``size``, the others are 0.

    Parameters
    ----------
    width : int
        How many columns.
    size : float, default 1.0
        The value in the column of the row's category.
    missing : bool, default False
        Whether a row may be in no category. Without it such a row is taken for the nearest
        category, and among equally near ones for the first.
    between : bool, default False
        Whether a row may lie between two categories side by side: both columns are positive and
        add up to ``size``. Noise is the same, because such a row is a mean of two others.
    """

    width: int
    size: float = 1.0
    missing: bool = False
    between: bool = False

    def __post_init__(self) -> None:
        _check(self)
        if not (isinstance(self.missing, bool) and isinstance(self.between, bool)):
            raise DeclarationError("missing and between must be True or False.")
        if self.missing and self.between:
            raise DeclarationError("A row between two categories is in one; drop missing=True.")

    @property
    def squared_norm(self) -> float:
        """The largest squared Euclidean norm."""
        return self.size**2

    @property
    def cells(self) -> int:
        """Categories, counting "none of them" where it is allowed."""
        return self.width + self.missing


Part = Box | OneHot


def _check(block: Part) -> None:
    object.__setattr__(block, "width", positive_whole("width", block.width))
    object.__setattr__(block, "size", number_between("size", block.size, SMALLEST, LARGEST))


@dataclass(frozen=True)
class Domain:
    """Blocks of columns side by side: a row is any combination of what each block allows.

    Parameters
    ----------
    blocks : sequence of Box and OneHot
        In the order of the columns.
    """

    blocks: tuple[Part, ...]

    def __post_init__(self) -> None:
        given = self.blocks
        if not isinstance(given, Sequence) or not given:
            raise DeclarationError("A domain needs at least one Box or OneHot.")
        if not all(isinstance(block, Box | OneHot) for block in given):
            raise DeclarationError("The blocks of a domain must be Box or OneHot.")
        object.__setattr__(self, "blocks", tuple(given))

    @property
    def columns(self) -> int:
        """How many columns a row has."""
        return sum(block.width for block in self.blocks)

    @property
    def norm(self) -> float:
        """The largest Euclidean norm of a row, rounded up."""
        exact = math.sqrt(math.fsum(block.squared_norm for block in self.blocks))
        return exact * (1.0 + (self.columns + 16) * 2.0**-52)

    @property
    def has_constant(self) -> bool:
        """Whether the columns of a block always add up to its size, as an intercept does."""
        return any(isinstance(block, OneHot) and not block.missing for block in self.blocks)

    def parts(self) -> Iterator[tuple[Part, slice]]:
        """Each block with its columns.

        Yields
        ------
        tuple of Box or OneHot and slice
        """
        start = 0
        for block in self.blocks:
            yield block, slice(start, start + block.width)
            start += block.width

    def with_constant(self, size: float) -> Domain:
        """The same with a last column that is ``size`` in every row.

        Parameters
        ----------
        size : float
            The constant.

        Returns
        -------
        Domain
        """
        return Domain((*self.blocks, OneHot(1, size)))

    def scaled(self, factor: float) -> Domain:
        """The same in other units.

        Parameters
        ----------
        factor : float
            What every size is multiplied by.

        Returns
        -------
        Domain
        """
        return Domain(tuple(replace(block, size=factor * block.size) for block in self.blocks))

    @property
    def fits_single(self) -> bool:
        """Whether every size is a number of single precision, so that such rows can hold it."""
        return all(float(np.float32(block.size)) == block.size for block in self.blocks)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for files.

        Returns
        -------
        dict
        """
        blocks = []
        for block in self.blocks:
            record: dict[str, Any] = {"width": block.width, "size": block.size}
            if isinstance(block, OneHot):
                record["missing"] = block.missing
                if block.between:
                    record["between"] = True
            blocks.append({"kind": "box" if isinstance(block, Box) else "one-hot", **record})
        return {"blocks": blocks}


def as_domain(declared: Any) -> Domain | None:
    """A declared domain as one value: a Domain, one block, or blocks in a list."""
    if declared is None or isinstance(declared, Domain):
        return declared
    if isinstance(declared, Box | OneHot):
        return Domain((declared,))
    if isinstance(declared, list | tuple):
        return Domain(tuple(declared))
    raise DeclarationError(
        "domain must be Box, OneHot, a list of them, or Domain; for example "
        "[Box(2), OneHot(5)] for two numbers between -1 and 1 and one of five categories."
    )


def domain_from_json(record: Any) -> Domain:
    """The inverse of ``Domain.to_json``."""
    listed = record.get("blocks") if isinstance(record, dict) else None
    if not isinstance(listed, list):
        raise DeclarationError("A domain in a file must be a list of blocks.")
    blocks: list[Part] = []
    for part in listed:
        kind = part.get("kind") if isinstance(part, dict) else None
        if kind == "box":
            blocks.append(Box(part["width"], part["size"]))
        elif kind == "one-hot":
            between = part.get("between", False)
            blocks.append(OneHot(part["width"], part["size"], part["missing"], between))
        else:
            raise DeclarationError("A domain in a file has a block of an unknown kind.")
    return Domain(tuple(blocks))
