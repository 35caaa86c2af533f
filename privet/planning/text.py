"""One line of a table: a name, and words that wrap beside it."""

import textwrap

WIDTH, LABEL = 88, 26


def line(name: str, text: str) -> str:
    """``name`` in the left column, ``text`` wrapped in the right one."""
    return textwrap.fill(
        text, WIDTH, initial_indent=f"  {name:<{LABEL - 2}}", subsequent_indent=" " * LABEL
    )
