"""Two workers on one PostgreSQL ledger under load, one killed twenty times.

    python benchmarks/answer_storm.py      writes benchmarks/answer_storm.md

Every answer that a client saw is compared with the transcript in the database: none may be missing,
none may differ, no row may have two, and no more rows may be answered than were declared.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from privet.ledger import Ledger
from tests.postgres import running as postgres
from tests.service.answer_storm import check, storm, summary

KILLS, ROWS, LIMIT, CLIENTS = 20, 900, 700, 4


def main() -> None:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        ledger = Ledger(server.url)
        seen = storm(
            Path(name),
            ledger,
            kills=KILLS,
            rows=ROWS,
            limit=LIMIT,
            clients=CLIENTS,
            told=lambda words: print(words, flush=True),
        )
        recorded = check(seen, ledger, LIMIT)
    assert seen.kills == KILLS, "the clients were done before the last kill: ask more rows"
    text = f"""# Workers that are killed

`python benchmarks/answer_storm.py`: {CLIENTS} clients ask {ROWS} rows each, in different orders, of
a release that answers {LIMIT}; two workers, one PostgreSQL ledger, one worker killed {KILLS} times
in {time.perf_counter() - begun:.0f} s. Every answer that a client saw is the one on record, no row
has two, no more than {LIMIT} rows were answered, the charge is one, and the ledger verifies.

```
{summary(seen, recorded)}
```
"""
    Path(__file__).with_suffix(".md").write_text(text)
    print(summary(seen, recorded))


if __name__ == "__main__":
    main()
