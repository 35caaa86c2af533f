"""``make audit``: everything that ``privet audit`` does, the planted bugs, and the committed page.

``python -m reproduce.full_audit`` writes ``docs/audit.md`` and fails if an attack succeeds on a
real mechanism, or if a planted bug is not caught.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from privet.audit.full_audit import run_audit
from privet.report.audit_page import audit_markdown
from tests.planted.bugs import PLANTED

PAGE = Path(__file__).parents[1] / "docs" / "audit.md"
HEADER = """# What the attacks on Privet found

```
privet audit                      # everything, a few minutes; exit code 1 if an attack succeeds
privet audit objective --quick    # one mechanism, or one model: LinearSVC, PublicSearch, ...
privet audit --html audit.html    # the tables, with the worst neighbors drawn
make audit                        # in the repository: also every planted bug, and this page
```

No rows are needed and no budget is spent. An audit can refute a promise but never prove it. What it
can find is shown by [bugs planted on purpose](planted-bugs.md); how to report what it missed is in
[SECURITY.md](../SECURITY.md).

`make audit` wrote this page with {seconds:.0f} seconds of processor time on one core. The random
numbers in it (tests, black boxes) differ from run to run; the others do not.

Exact divergences of Gaussian noise are computed for outputs of at most two numbers. With softmax or
joint Huber loss that leaves one column, in which two rows move the gradient less than they can in
two, so those rows of the table show less than they could. Beside the noise that is tested here, a
test watches every draw of every release (`tests/laws/test_draws.py`).

"""


def main() -> None:
    """Attack, and write what was found."""
    caught = {name: bug.findings() for name, bug in PLANTED.items()}
    result = run_audit(tell=lambda told: print(told, file=sys.stderr, flush=True))
    planted = ["## Planted bugs", "", "| bug | caught by |", "|---|---|"]
    for name, found in caught.items():
        checks = ", ".join(dict.fromkeys(one.check for one in found))
        planted.append(f"| {name} | {checks or 'NOTHING'} |")
    head = HEADER.format(seconds=time.process_time())
    PAGE.write_text("\n".join([head + audit_markdown(result), *planted, ""]), encoding="utf-8")
    missed = [name for name, found in caught.items() if not found]
    if missed or not result.passed:
        sys.exit(f"An attack succeeded, or these bugs were not caught: {missed}. See {PAGE.name}.")


if __name__ == "__main__":
    main()
