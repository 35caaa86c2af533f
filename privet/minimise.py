"""The old spelling of ``privet.minimize``; it will be removed."""

from privet._moved import old_names

__getattr__ = old_names(
    __name__,
    {
        "MAX_ITER": "privet.minimize.MAX_ITER",
        "Solution": "privet.minimize.Solution",
        "Status": "privet.minimize.Status",
        "curvature_at": "privet.minimize.curvature_at",
        "minimise": "privet.minimize.minimize",
        "minimise_many": "privet.minimize.minimize_many",
        "minimiser_norm": "privet.minimize.minimizer_norm",
        "rounding_floor": "privet.minimize.rounding_floor",
    },
)
