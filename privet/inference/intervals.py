"""Private intervals as a value: numbers, names and the promise that covers them.

Everything is computed from released numbers, so asking for other levels, contrasts or points costs
no privacy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privet._files import for_others, write_paid
from privet._types import Array
from privet._untrusted import sealed
from privet.errors import DeclarationError, MissingExtra
from privet.inference.interval_display import ShownIntervals
from privet.inference.mixture import WITHIN_ONE, Parts, confidence_level, quantiles, tails
from privet.inference.released_model import NamedDirections, ParameterLayout
from privet.inference.uncertainty import Uncertainty
from privet.noise.cone_noise import half_vector
from privet.privacy.guarantee import Guarantee
from privet.schema import Schema

FORMAT = "privet-intervals-2"
JOINT = ("bonferroni", "sidak")
#: lengths by plausible matrices that differ by this factor are the noise's
DOUBT = 2.0


@dataclass(frozen=True)
class Intervals(ShownIntervals):
    """Confidence intervals for linear functions of a released model's parameters.

    Attributes
    ----------
    named : NamedDirections
        What each number is, and which function of the parameters.
    level : float
        Of each interval, or of all together where ``joint`` says so.
    uncertainty : Uncertainty
        Released parameters and matrices, and the law of their error.
    layout : ParameterLayout
        What the parameters stand for.
    guarantee : Guarantee
        What the intervals cost beyond the model.
    joint : str
        "bonferroni" or "sidak" where all hold at once; empty otherwise.
    """

    named: NamedDirections
    level: float  # of each interval, or of all together where ``joint`` says so
    uncertainty: Uncertainty
    layout: ParameterLayout
    guarantee: Guarantee
    joint: str = ""

    # -- numbers -------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """What each number is."""
        return self.named.names

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each number; empty for plain coefficients."""
        return self.named.units

    @cached_property
    def estimate(self) -> Array:
        """The released numbers."""
        return np.asarray(self.named.directions @ self.uncertainty.theta)

    @cached_property
    def _parts(self) -> Parts:
        return self.uncertainty.parts(self.named.directions)

    @cached_property
    def std_error(self) -> Array:
        """Half the length of each 68.27 % interval, from sampling and from noise.

        Of a normal law that is the standard deviation; of a mixture, what its rarest members
        do not decide.
        """
        return quantiles(1.0 - WITHIN_ONE, self._parts, self.uncertainty.noise.main)

    @property
    def each_level(self) -> float:
        """The level of a single interval."""
        count = max(len(self.names), 1)
        if self.joint == "bonferroni":
            return 1.0 - (1.0 - self.level) / count
        return float(self.level ** (1.0 / count)) if self.joint == "sidak" else self.level

    @cached_property
    def half_width(self) -> Array:
        """Half the length of each interval."""
        return quantiles(1.0 - self.each_level, self._parts, self.uncertainty.noise.main)

    @cached_property
    def doubtful(self) -> list[bool]:
        """Which numbers have lengths that noise in the released matrices decides.

        Plausible matrices differ by a factor of two and more in what they say about them.
        """
        low, high = np.quantile(self._parts.weights, [0.1, 0.9], axis=0)
        return [bool(wide) for wide in high > DOUBT * low]

    @property
    def lower(self) -> Array:
        """Lower ends."""
        return self.estimate - self.half_width

    @property
    def upper(self) -> Array:
        """Upper ends."""
        return self.estimate + self.half_width

    @property
    def z(self) -> Array:
        """Estimates in standard errors."""
        return np.asarray(self.estimate / np.maximum(self.std_error, 1e-300))

    @cached_property
    def p_value(self) -> Array:
        """How probable an estimate this large would be if the parameter were zero, two-sided.

        By the law of sampling and noise together, which is not normal where the noise is not.
        """
        return tails(np.abs(self.estimate), self._parts, self.uncertainty.noise.main)

    def at(self, level: float) -> Intervals:
        """The same at another confidence level.

        Parameters
        ----------
        level : float
            At least 0.5 and below 1.

        Returns
        -------
        Intervals
            At no further cost.
        """
        return replace(self, level=confidence_level(level))

    def together(self, method: str = "bonferroni") -> Intervals:
        """Wider intervals that hold all at once with probability ``level``.

        Parameters
        ----------
        method : {"bonferroni", "sidak"}, default "bonferroni"
            ``"sidak"`` is a little narrower; for noise laws that are mixtures of normals it holds
            too, since given the variance the inequality of Sidak (1967) applies and every factor
            falls with it.

        Returns
        -------
        Intervals
            At no further cost.
        """
        if method not in JOINT:
            raise DeclarationError(f"method must be 'bonferroni' or 'sidak', got {method!r}.")
        return replace(self, joint=method)

    def contrast(
        self, weights: Mapping[str, float] | ArrayLike, name: str = "contrast"
    ) -> Intervals:
        """The interval of a weighted sum of these numbers.

        Parameters
        ----------
        weights : mapping or array
            Weights by name, or one for each number in order; several rows are several sums.
        name : str, default "contrast"
            What to call it.

        Returns
        -------
        Intervals
            At no further cost.
        """
        if isinstance(weights, Mapping):
            unknown = [key for key in weights if key not in self.names]
            if unknown:
                raise DeclarationError(f"There is no number called {unknown[0]!r} here.")
            row = np.array([[float(weights.get(key, 0.0)) for key in self.names]])
        else:
            row = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        if row.shape[1:] != (len(self.names),) or not np.isfinite(row).all():
            raise DeclarationError(f"A contrast needs {len(self.names)} finite weights.")
        names = (name,) if len(row) == 1 else tuple(f"{name} {i + 1}" for i in range(len(row)))
        named = self.layout.named(names, row @ self.named.directions)
        return replace(self, named=replace(named, target=self.named.target))

    def decision(self, points: Any) -> Intervals:
        """Intervals for the decision value of each public point, in the columns of the model.

        Parameters
        ----------
        points : array of shape (q, d)
            Clipped as rows are. They must be public: what is asked for is not protected.

        Returns
        -------
        Intervals
            One for each point and score.
        """
        return replace(self, named=self.layout.decisions(points))

    def in_units(self, schema: Schema) -> Intervals:
        """The same as changes in the units of the table that ``schema`` encodes.

        Parameters
        ----------
        schema : Schema
            The schema that the model's rows were encoded with.

        Returns
        -------
        Intervals
            At no further cost.
        """
        layout = self.layout
        if layout.mapped:
            raise DeclarationError(
                "The model's coefficients are about standardized columns or products of columns, "
                "which have no unit of the table's."
            )
        if schema.width != len(layout.columns):
            raise DeclarationError(f"The model has {len(layout.columns)} encoded columns.")
        return replace(self, named=layout.effects(schema))

    # -- telling -------------------------------------------------------------------------------

    @property
    def numbers(self) -> dict[str, Array]:
        """Every column of numbers by its name, in the order of the table."""
        return {
            "estimate": self.estimate,
            "std_error": self.std_error,
            "z": self.z,
            "p_value": self.p_value,
            "lower": self.lower,
            "upper": self.upper,
        }

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns, as plain values.

        Returns
        -------
        dict
            Lists by the name of the column.
        """
        units = {"unit": list(self.units)} if any(self.units) else {}
        values = {name: column.tolist() for name, column in self.numbers.items()}
        return {"name": list(self.names), **units, **values}

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """The table as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"
            Whose frame.

        Returns
        -------
        DataFrame or Table
            Of ``backend``.
        """
        import narwhals as nw

        try:
            return nw.from_dict(self.columns(), backend=backend).to_native()
        except ImportError as error:
            raise MissingExtra(
                f"A {backend} frame needs the package {backend}; install it, or take columns()."
            ) from error

    def __len__(self) -> int:
        return len(self.names)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values: the table for readers, and what it was made of.

        Returns
        -------
        dict
            What the file holds.
        """
        about = self.uncertainty
        return {
            "format": FORMAT,
            "level": self.level,
            "joint": self.joint,
            "target": self.named.target,
            "table": self.columns(),
            "guarantee": self.guarantee.to_json(),
            "directions": self.named.directions.tolist(),
            "units": list(self.units),
            "stretch": list(self.named.stretch),
            "construction": about.construction,
            "theta": about.theta.tolist(),
            "regularization": about.regularization,
            "n": about.n,
            "seed": about.seed,
            "fit_noise": {
                "mechanism": about.noise.mechanism,
                "main": about.noise.main.facts(),
                "gap_sd": about.noise.gap_sd,
            },
            "matrices": {
                "hessian": half_vector(about.released.hessian).tolist(),
                "covariance": half_vector(about.released.covariance).tolist(),
                "eta": about.released.weighing.eta,
                "sensitivity": about.released.weighing.sensitivity,
                "noise": about.released.noise.facts(),
            },
            "geometry": self.layout.to_json(),
        }

    def file_text(self) -> str:
        """What ``save`` writes.

        Returns
        -------
        str
            JSON, with its digest in the first field.
        """
        return sealed(self.to_json())

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write what was released to a JSON file, which ``load_intervals`` reads.

        Parameters
        ----------
        path : path-like
        overwrite : bool, default False
            Whether another file of that name is replaced.
        """
        write_paid(path, self.file_text(), overwrite=overwrite, mode=for_others())
