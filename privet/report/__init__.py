"""A released model as a page that people can read, show and print.

This room sees what any reader of the model file sees: released numbers, declarations, the
guarantee. No row comes here, so nothing can be told that was not paid for.
"""

from privet.report.page import render, write

__all__ = ["render", "write"]
