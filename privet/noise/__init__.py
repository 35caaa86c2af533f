"""The laws of noise: spherical ones and single numbers, and those with a shape of their own.

    laws           SphericalLaplace, GaussianNoise; Laplace, Exponential, Gumbel
    domain_noise   Product, Hull: the shape of a declared domain
    grouped_noise  Grouped: the same in groups of its blocks
    matrix_noise   MatrixLaplace, ClassProduct: many classes
    cone_noise     ConeLaplace: second moments
    class_noise    ClassLaplace, ClassHull: sums by class

A law says what it is; how large it must be is the business of the mechanisms.
"""

from privet.noise.class_noise import ClassHull, ClassLaplace
from privet.noise.cone_noise import ConeLaplace
from privet.noise.domain_noise import DomainNoise, Hull, Product
from privet.noise.grouped_noise import Grouped
from privet.noise.laws import (
    NOISES,
    Exponential,
    GaussianNoise,
    Gumbel,
    Laplace,
    Law,
    Noise,
    SphericalLaplace,
)
from privet.noise.matrix_noise import ClassProduct, MatrixLaplace

__all__ = [
    "NOISES",
    "ClassHull",
    "ClassLaplace",
    "ClassProduct",
    "ConeLaplace",
    "DomainNoise",
    "Exponential",
    "GaussianNoise",
    "Grouped",
    "Gumbel",
    "Hull",
    "Laplace",
    "Law",
    "MatrixLaplace",
    "Noise",
    "Product",
    "SphericalLaplace",
]
