"""Laws of noise with a shape of their own, small and larger, for the tests that run over them."""

from __future__ import annotations

from privet.domain import Box, Domain, OneHot
from privet.noise import ClassProduct, ConeLaplace, Grouped, Hull, MatrixLaplace, Noise, Product
from privet.noise.grouped_noise import groups_of

NUMBERS = Domain((Box(2, 0.7),))
GROUPS = Domain((OneHot(3, 0.5), OneHot(2, 0.8)))
MIXED = Domain((Box(1, 0.6), OneHot(3, 0.5), OneHot(2, 0.3, missing=True), OneHot(1, 0.4)))
WIDE = Domain((Box(4, 0.2), *(OneHot(k, 0.25) for k in (9, 7, 16, 2, 5)), OneHot(1, 0.25)))
UNLIKE = Domain((OneHot(2, 0.1, missing=True), Box(1, 0.6), OneHot(1, 0.5), OneHot(3, 0.1)))
DOMAINS = (NUMBERS, GROUPS, MIXED, WIDE, UNLIKE)


def shaped_laws(scale: float = 0.7) -> list[Noise]:
    """Every law on every domain that it is for."""
    found: list[Noise] = []
    for domain in DOMAINS:
        found.append(Product(scale, domain.columns, domain))
        if domain.has_constant:
            found.append(Hull(scale, domain.columns, domain))
        if len(groups_of(domain)) > 1:
            found.append(Grouped(scale, domain.columns, domain))
        for classes in (3, 6):
            size = (classes - 1) * domain.columns
            found.append(ClassProduct(scale, size, domain, classes))
    found += [ConeLaplace(scale, p * (p + 1), p) for p in (1, 2, 7)]
    return [*found, *(MatrixLaplace(scale, k * m, k) for k, m in ((1, 4), (2, 3), (6, 2), (5, 12)))]
