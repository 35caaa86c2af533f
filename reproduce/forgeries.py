"""Every single change of every kind of released file, shown to ``privet verify``.

``python -m reproduce.forgeries [SHARE] > reproduce/forgeries.md`` writes the page; SHARE (default
1) of the changes is tried, chosen at random. A change that is accepted must be harmless for a
reason (``tests/certificate/harmless.py``); the exit code is 1 if one is not.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests.certificate.harmless import why_harmless
from tests.certificate.mutants import accepted, mutants, parsed
from tests.certificate.released import WRITTEN, files

#: Files whose values take the place of a file's own.
DONORS = 4


def main(share: float) -> int:
    """Write the page."""
    rng = random.Random(0)
    read = {name: [parsed(path.read_bytes()) for path in files(name)] for name in WRITTEN}
    every = [file for found in read.values() for file in found]
    tried, reasons, findings = Counter[str](), Counter[str](), Counter[str]()
    for file in every:
        alike = [other for other in every if other.kind == file.kind and other is not file]
        for mutant in mutants(file, rng.sample(alike, min(DONORS, len(alike)))):
            if rng.random() > share:
                continue
            tried[mutant.how] += 1
            if accepted(mutant.file):
                why = why_harmless(mutant)
                reasons[why or "a finding"] += 1
                findings[f"{mutant.where}, {mutant.how}"] += why is None
    print("# Changed files and `privet verify`\n")
    told = (
        f"{sum(tried.values()):,} changes of {len(every)} files, {sum(reasons.values()):,} accepted"
    )
    print(f"`python -m reproduce.forgeries {share:g}`: {told}.\n")
    print("| accepted because it is | changes |\n|---|---|")
    for why, count in reasons.most_common():
        print(f"| {why} | {count:,} |")
    print("\n| what was done | changes |\n|---|---|")
    for how, count in tried.most_common():
        print(f"| {how} | {count:,} |")
    wrong = sorted(place for place, count in findings.items() if count)
    print("\nFindings: " + ("; ".join(wrong) if wrong else "none") + ".")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
