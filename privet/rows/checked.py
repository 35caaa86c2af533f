"""What views have made of rows that stay in memory."""

from __future__ import annotations

from privet.rows.engine import Rows


class Checked:
    """Rows of a chunk that stays in memory as a view showed them last, checked and bounded.

    Kept are rows that lie in the chunk itself, with a few numbers beside each. Nothing of it is
    sent along with the chunk.
    """

    def __init__(self) -> None:
        self._kept: tuple[bytes, dict[int, Rows]] = (b"", {})

    def __reduce__(self) -> tuple[type[Checked], tuple[()]]:
        return Checked, ()

    def by(self, token: bytes) -> dict[int, Rows]:
        """What the view with this token has made, by the first row; empty at first.

        Whoever asks holds on to what is returned: another view's rows never come into it.
        """
        kept = self._kept
        if kept[0] != token:
            kept = self._kept = (token, {})
        return kept[1]
