"""The laws of noise in an objective: how far a row moves it, what that costs, how large it is.

    laplace, gaussian   Euclid's norm: D R                                objective.proof.md
    product, hull       gauge of the declared domain's body: 2            domain_noise.proof.md
    grouped             the same, shares of it for groups of blocks: 2    domain_noise.proof.md, 9
    matrix laplace      nuclear norm of one row's gradients: 2 L R        matrix_noise.proof.md
    class product       half the sum over the classes: 2, 2 (C - 1)       domain_noise.proof.md, 6

The gauge's laws have scales without a unit; ``a`` is one over the scale, and ``R`` over it
otherwise. Class weights up to ``w`` multiply the differences, ``a`` and ``q``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, factorial

from privet.certificate.balls import Ball, ball, gamma_quantile, larger, ratio, smaller, total
from privet.certificate.declared_rows import DeclaredBlock, DeclaredRows
from privet.certificate.grouped_blocks import grouped
from privet.certificate.hull_volumes import hull_squares
from privet.certificate.loss_bounds import OF_CLASSES, ONE_SCORE, OWN_SCORES
from privet.certificate.rounding import NEGLIGIBLE, coordinate_sd, norm_quantile
from privet.certificate.verdicts import Undecided

#: More classes take longer than a fit.
MOST_CLASSES = 1024


@dataclass(frozen=True)
class NoiseLaw:
    """One law at the scale that a file states, for the rows that it declares."""

    rows: DeclaredRows
    scale: Ball
    m: int

    @property
    def p(self) -> int:
        """Numbers of one draw."""
        return self.rows.loss.scores * self.m

    @property
    def difference(self) -> Ball:
        """How far a replaced row moves the noise, in the law's own norm."""
        return self.rows.loss.difference * self.rows.norm

    def cost(self, q: Ball) -> Ball:
        """The privacy loss of noise and Jacobian together, ``q = R^2/(n Lam)``."""
        return self.rows.loss.privacy_loss(self.rows.norm / self.scale, q)

    @property
    def least_sd(self) -> Ball:
        """Of the coordinate with the smallest share."""
        return coordinate_sd("laplace", self.scale, self.p)

    @property
    def norm(self) -> Ball:
        """What the Euclidean norm exceeds with probability 1e-18 at most."""
        return norm_quantile("laplace", self.scale, self.p)


class GaussianLaw(NoiseLaw):
    """Independent normal coordinates; their cost is that of the curve, not one number."""

    @property
    def least_sd(self) -> Ball:
        """The scale."""
        return self.scale

    @property
    def norm(self) -> Ball:
        """Chi."""
        return norm_quantile("gaussian", self.scale, self.p)


class MatrixLaw(NoiseLaw):
    """``s A G`` with Gaussian ``A`` (K x d) and ``G`` (d x m), ``d = K + m``."""

    @property
    def difference(self) -> Ball:
        """``2 L R``: where rows are orthogonal nothing is saved (step 5)."""
        return 2 * self.rows.loss.slope * self.rows.norm

    def cost(self, q: Ball) -> Ball:
        """``2 a L`` and the determinant; softmax as for spherical noise."""
        loss, a = self.rows.loss, self.rows.norm / self.scale
        if loss.name == "softmax":
            return loss.privacy_loss(a, q)
        return 2 * a * loss.slope + loss.log_determinant(q)

    @property
    def inner(self) -> int:
        """``d``."""
        return self.rows.loss.scores + self.m

    @property
    def least_sd(self) -> Ball:
        """``s sqrt d``: an entry is an inner product of two normal vectors."""
        return self.scale * ball(self.inner).sqrt()

    @property
    def norm(self) -> Ball:
        """``|A|`` times the smaller of ``|G|`` and ``sqrt d + sqrt m + t`` (step 7)."""
        half = NEGLIGIBLE / 2.0
        first, second = (
            (2 * gamma_quantile(ratio(size * self.inner, 2), half)).sqrt()
            for size in (self.rows.loss.scores, self.m)
        )
        t = (-2 * ball(half).log()).sqrt()
        operator = ball(self.inner).sqrt() + ball(self.m).sqrt() + t
        return self.scale * first * smaller(second, operator)


class ProductLaw(NoiseLaw):
    """Density ``exp(-|b|_K/s)``: radius Gamma(dim + 1) times a uniform point of the body."""

    @property
    def blocks(self) -> tuple[DeclaredBlock, ...]:
        """The declared domain, with the constant column."""
        if not self.rows.blocks:
            raise Undecided("noise in the shape of a domain, and no domain is declared")
        return self.rows.blocks

    @property
    def span(self) -> int:
        """``dim V``."""
        return sum(block.width for block in self.blocks)

    @property
    def difference(self) -> Ball:
        """Each row's gradient has gauge ``|l'| <= w`` at most."""
        return 2 * self.rows.loss.slope

    def cost(self, q: Ball) -> Ball:
        """The scalar bound with ``a = 1/s`` in place of ``R/scale`` (step 3)."""
        return self.rows.loss.privacy_loss(1 / self.scale, q)

    def squares(self) -> list[Ball]:
        """``E u_i^2`` of a uniform point: a coordinate of each block."""
        return [
            block.size**2 * ratio(*((2, (k + 1) * (k + 2)) if block.hot else (1, 3)))
            for block in self.blocks
            for k in (block.width,)
        ]

    @property
    def least_sd(self) -> Ball:
        """``s sqrt((dim+1)(dim+2) E u_i^2)`` at the smallest."""
        least, *others = self.squares()
        for other in others:
            least = smaller(least, other)
        return self.scale * ((self.span + 1) * (self.span + 2) * least).sqrt()

    @property
    def norm(self) -> Ball:
        """``|b| <= R |b|_K``, whose law is Gamma(dim)."""
        return self.rows.norm * self.scale * gamma_quantile(ball(self.span), NEGLIGIBLE)


class HullLaw(ProductLaw):
    """The hull of the rows and their opposites: blocks agree in their sums."""

    @property
    def span(self) -> int:
        """Less one for each block that is never missing, after the first."""
        complete = sum(block.hot and not block.missing for block in self.blocks)
        if not complete:
            raise Undecided("a hull needs a column or a block that is never missing")
        return super().span - complete + 1

    def squares(self) -> list[Ball]:
        """Numbers have a third; the cells of categories are alike within a block."""
        cells = [block.cells for block in self.blocks if block.hot]
        means = dict(zip(cells, hull_squares(cells), strict=True))
        return [
            block.size**2 * (means[block.cells] if block.hot else ratio(1, 3))
            for block in self.blocks
        ]


class GroupedLaw(ProductLaw):
    """Independent noise of each group at ``s/w``, the groups by the rule of step 9."""

    def groups(self) -> list[tuple[float, ProductLaw]]:
        """The shares and laws, from the declared blocks."""
        found = []
        for share, blocks in grouped(self.blocks):
            norm = total(block.longest for block in blocks).sqrt()
            rows = replace(self.rows, norm=norm, blocks=tuple(blocks))
            hull = any(block.hot and not block.missing for block in blocks)
            found.append((share, (HullLaw if hull else ProductLaw)(rows, self.scale, self.m)))
        return found

    @property
    def span(self) -> int:
        """Added up over the groups."""
        return sum(law.span for _, law in self.groups())

    @property
    def least_sd(self) -> Ball:
        """The smallest of the groups'."""
        least, *others = (law.least_sd / ball(share) for share, law in self.groups())
        for other in others:
            least = smaller(least, other)
        return least

    @property
    def norm(self) -> Ball:
        """The body's points are means of those of the groups over their shares."""
        longest, *others = (law.rows.norm / ball(share) for share, law in self.groups())
        for other in others:
            longest = larger(longest, other)
        return longest * self.scale * gamma_quantile(ball(self.span), NEGLIGIBLE)


class ClassLaw(ProductLaw):
    """``{W : columns add up to zero, sum |W_j| <= 2 s_j}``: every block by itself (step 6)."""

    @property
    def span(self) -> int:
        """``(C - 1) m``."""
        return (self.rows.loss.classes - 1) * super().span

    @property
    def _both(self) -> int:
        """Two rows, each half of its ``sum_c |g_c|``: at most 2, joint Huber ``2 (C - 1)``."""
        loss = self.rows.loss
        return 2 if loss.name == "softmax" else 2 * (loss.classes - 1)

    @property
    def difference(self) -> Ball:
        """Times the largest class weight."""
        return self._both * ball(self.rows.loss.weight)

    def cost(self, q: Ball) -> Ball:
        """Softmax shares ``r`` between gauge and determinant, joint Huber shares nothing."""
        loss, w, a = self.rows.loss, ball(self.rows.loss.weight), 1 / self.scale
        general = a * self.difference + loss.log_determinant(q)
        if loss.name != "softmax":
            return general
        return smaller(general, w * a + loss.wrong_chance_maximum(w * a, w * q))

    def squares(self) -> list[Ball]:
        """``E|W_l|^2/(C-1)`` of a column: its size is Beta, its direction on the root polytope."""
        C = self.rows.loss.classes
        free, square = C - 1, _root_square(C)
        found = []
        for block in self.blocks:
            of = (block.width if block.hot else 1) * free + 1
            found.append(block.size**2 * ratio((free + 1), of * (of + 1)) * square)
        return found

    @property
    def norm(self) -> Ball:
        """No point of the body is longer than ``sqrt2 R``."""
        return ball(2).sqrt() * super().norm


def _root_square(C: int) -> Ball:
    """``E|u|^2`` on the surface: ``p`` entries split 1, the others -1, by Dirichlet(1, ..., 1)."""
    if C > MOST_CLASSES:
        raise Undecided(f"more than {MOST_CLASSES} classes: the size of the noise is not computed")
    weights = {p: ratio(comb(C, p), factorial(p - 1) * factorial(C - p - 1)) for p in range(1, C)}
    mean = total(w * (ratio(2, p + 1) + ratio(2, C - p + 1)) for p, w in weights.items())
    return mean / total(weights.values())


LAWS: dict[str, type[NoiseLaw]] = {
    "laplace": NoiseLaw,
    "gaussian": GaussianLaw,
    "matrix laplace": MatrixLaw,
    "product": ProductLaw,
    "hull": HullLaw,
    "grouped": GroupedLaw,
    "class product": ClassLaw,
}
#: The losses whose rows each shape of noise has a theorem on; round ones are for every loss.
PROVED: dict[str, tuple[str, ...]] = {
    "product": ONE_SCORE,
    "hull": ONE_SCORE,
    "grouped": ONE_SCORE,
    "matrix laplace": (*OF_CLASSES, OWN_SCORES),
    "class product": OF_CLASSES,  # gradients that add up to zero, by what these losses' chances are
}


def noise_law(kind: str, rows: DeclaredRows, scale: float, m: int) -> NoiseLaw:
    """The law by its name in the file."""
    if kind not in LAWS:
        raise Undecided(f"the noise {kind!r} is not known here")
    if rows.loss.name not in PROVED.get(kind, (rows.loss.name,)):
        raise Undecided(f"no theorem on {kind} noise for the loss {rows.loss.name!r} is known here")
    return LAWS[kind](rows, ball(scale), m)
