"""The made-up raw table and the declarations that belong to it."""

import numpy as np
import pyarrow as pa

from privet.datasets import OVER, QUESTIONS, census_schema, census_table


def test_the_table_is_what_its_documentation_says() -> None:
    table = census_table(20_000, seed=3)
    assert 0.2 < (table["income"] == OVER).mean() < 0.33
    assert table["age"].min() >= 17
    assert table["age"].max() <= 90
    assert 0.01 < (table["occupation"] == "").mean() < 0.03
    assert 0.005 < np.isnan(table["hours"]).mean() < 0.015
    assert 0.6 < (table["capital_income"] == 0).mean() < 0.8
    for question in QUESTIONS:
        assert len(question.effects) == len(question.levels)
        assert set(table[question.name]) - {""} == set(question.levels)
        total = sum(question.levels.values())
        for level, share in question.levels.items():
            assert abs((table[question.name] == level).mean() - share / total) < 0.03


def test_the_same_seed_gives_the_same_people_and_another_others() -> None:
    one, two, other = census_table(50, 1), census_table(50, 1), census_table(50, 2)
    assert all(np.array_equal(one[k], two[k], equal_nan=k == "hours") for k in one)
    assert not np.array_equal(one["age"], other["age"])


def test_the_schema_declares_every_column_and_confirms_it() -> None:
    schema, table = census_schema(), census_table(300)
    assert [*schema.columns, schema.label.name] == list(table)
    assert schema.unconfirmed == ()
    x, y = schema.encode(pa.table({name: pa.array(v.tolist()) for name, v in table.items()}))
    assert np.linalg.norm(x, axis=1).max() <= 1.0
    assert y.tolist() == table["income"].tolist()
