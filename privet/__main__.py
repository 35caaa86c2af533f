"""``python -m privet``: the command line without its script."""

from privet.cli import main

main()
