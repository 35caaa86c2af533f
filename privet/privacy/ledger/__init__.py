"""A privacy budget that survives the process.

ledger.py    Ledger: what users call
terms.py     what an account promises: cap, parts, rows of one person; whether a charge fits
fits.py      what would be admitted now, in every number
entry.py     one line of the ledger and its hash
book.py      reading and appending entries, the same in every database
memory.py    what a connection need not look at again
audit.py     replaying a ledger from its first entry
storage.py   what a database must give; sqlite.py and postgres.py give it
idle.py      connections that wait; sqlite_line.py and postgres_line.py are connections
"""

from privet.privacy.ledger.entry import Entry
from privet.privacy.ledger.fits import Fits
from privet.privacy.ledger.ledger import Ledger
from privet.privacy.ledger.terms import Part, Terms
from privet.privacy.receipt import Receipt

__all__ = ["Entry", "Fits", "Ledger", "Part", "Receipt", "Terms"]
