"""A privacy budget that survives the process.

ledger.py    Ledger: what users call
charge.py    Charge: reserve, release, settle; what a release must declare for it
account.py   what an account promises: cap, parts, rows of one person; whether a charge fits
fits.py      what would be admitted now, in every number
entry.py     one line of the ledger and its hash
entries.py   reading and appending entries inside a transaction
verify.py    replaying a ledger from its first entry; checkpoint.py from the last one verified
binding.py   whether a released file and its entry name each other
memory.py    what was last seen of a ledger; beside.py keeps it beside a file
witness.py   heads in the hands of an outside witness
answer_turns.py   transcripts of releases that several processes answer
place.py     whether all who charge a file meet there: links, mounts, locks
forks.py     a fork waits for threads that are at a file
store.py     what a database must give; sqlite.py and postgres.py give it, stores.py chooses
postgres_connection.py, postgres_tables.py, guard*.sql, postgres_roles.py   what a server needs
"""

from privet.ledger.account import Part, Terms
from privet.ledger.charge import Charge
from privet.ledger.checkpoint import Checkpoint
from privet.ledger.entry import Entry
from privet.ledger.fits import Fits
from privet.ledger.ledger import Ledger
from privet.privacy.guarantee import Receipt

__all__ = ["Charge", "Checkpoint", "Entry", "Fits", "Ledger", "Part", "Receipt", "Terms"]
