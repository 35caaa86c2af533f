"""The words Privet refuses with.

    PrivetError
    |-- DeclarationError (ValueError)    a public parameter is missing, malformed or impossible
    |   `-- InfeasibleBudget             the budget is too small for this regularization
    |-- DataError (ValueError)           the rows break what was declared; nothing was charged
    |-- BudgetExceeded                   the charge does not fit under the cap; nothing released
    |-- LedgerError (RuntimeError)       the ledger cannot be read, written or believed
    |-- NotConverged (RuntimeError)      the minimum was not reached; charged, nothing released
    `-- MissingExtra (ImportError)       an optional package is needed; the message names the extra

    PrivetWarning (UserWarning)
    |-- RegularizationRaised             the declared regularization was below the proven floor
    `-- SeededNoise                      the noise comes from a seed: not private

A message says what was wrong, what was expected and what to do. It may quote public declarations
(budgets, bounds, shapes) but never a value that comes from a row.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PrivetError(Exception):
    """Base of everything that Privet raises on purpose."""


class DeclarationError(PrivetError, ValueError):
    """A public parameter is missing, malformed or impossible."""


class InfeasibleBudget(DeclarationError):
    """The budget cannot pay for the Jacobian term at this regularization."""


class DataError(PrivetError, ValueError):
    """The rows break what was declared about them."""


class BudgetExceeded(PrivetError):
    """A charge does not fit under the cap."""


class LedgerError(PrivetError, RuntimeError):
    """The ledger cannot be read, written or believed."""


class NotConverged(PrivetError, RuntimeError):
    """The minimizer did not reach the gradient norm that the proof was given."""


class MissingExtra(PrivetError, ImportError):
    """An optional package is needed for what was asked."""


class PrivetWarning(UserWarning):
    """Base of Privet's warnings."""


class SeededNoise(PrivetWarning):
    """The noise comes from ``insecure_seed``: whoever knows the seed can take it off again."""


class RegularizationRaised(PrivetWarning):
    """The declared regularization was below the proven floor and has been raised to it."""


_QUIET: ContextVar[bool] = ContextVar("privet-quiet", default=False)


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing is warned or logged inside: it was said before, or saying it would tell something.

    It holds for the calling thread alone. ``warnings.catch_warnings`` and a logger's level belong
    to the whole process, where two threads undo each other's.
    """
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Whether this runs inside ``quietly``.

    Returns
    -------
    bool
        True in this thread and its tasks alone.
    """
    return _QUIET.get()


def warn(message: str, category: type[PrivetWarning] = PrivetWarning, stacklevel: int = 2) -> None:
    """``warnings.warn``, unless this runs inside ``quietly``.

    Parameters
    ----------
    message : str
        What to say; it quotes no row.
    category : type of PrivetWarning
        The kind of warning.
    stacklevel : int
        As in ``warnings.warn``, counted from the caller.
    """
    if not is_quiet():
        warnings.warn(message, category, stacklevel=stacklevel + 1)
