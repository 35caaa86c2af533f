"""The default rule: public numbers in, the unit law, and its powers of the noise's share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import ZCDP, PureDP
from privet.losses import Logistic, Softmax
from privet.mechanisms import MECHANISMS
from privet.mechanisms.regularization import RULES, default_regularization

KEYS = sorted(RULES)
NAMES = ["/".join(map(str, key)) for key in KEYS]


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
@given(
    bound=st.floats(1e-3, 1e3),
    noise=st.floats(1e-2, 1e4),
    n=st.integers(1, 10**7),
    unit=st.floats(1e-3, 1e3),
)
def test_the_rule_obeys_the_unit_law(
    key: tuple[str, str, bool], bound: float, noise: float, n: int, unit: float
) -> None:
    loss = Softmax(3) if key[2] else Logistic()
    lam = default_regularization(*key[:2], loss, bound, noise, n)
    other = default_regularization(*key[:2], loss, unit * bound, unit * noise, n)
    assert other == pytest.approx(unit**2 * lam, rel=1e-9)


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
def test_four_times_the_rows(key: tuple[str, str, bool]) -> None:
    """A quarter of the noise's share: an eighth of the regularization with power 3/2."""
    powers = {("objective", "laplace"): 1.5, ("objective", "gaussian"): 1.0 if key[2] else 1.3}
    loss = Softmax(3) if key[2] else Logistic()
    few, many = (default_regularization(*key[:2], loss, 1.0, 7.0, n) for n in (1000, 4000))
    assert few / many == pytest.approx(4.0 ** powers.get(key[:2], 1.0))


@pytest.mark.parametrize("name", ["objective", "output"])
@pytest.mark.parametrize("budget", [PureDP(0.5), ZCDP(0.1)], ids=["pure", "zcdp"])
def test_auto_falls_with_rows_and_never_with_columns(name: str, budget: PureDP) -> None:
    def auto(n: int, m: int) -> float:
        return MECHANISMS[name](Logistic(), budget).design(n, m).risk.regularization

    sizes = [auto(n, 20) for n in (500, 5_000, 50_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 5.0 * sizes[2]
    assert auto(500, 80) >= auto(500, 20)  # equal at the floor
    assert auto(500, 80_000) > auto(500, 20)
