"""Files and the text in them: whole or not at all, on disk when a call returns.

A file is written beside its place, synced and then given its name, so that a crash, a full disk or
Ctrl-C leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from privet._untrusted import read_whole
from privet.errors import DeclarationError

#: of a file whose digest is taken: none that Privet writes is larger
LARGEST = 1 << 30
Place = str | os.PathLike[str]
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
#: What a file system answers that has no hard links.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
#: What follows a ledger's name in the names of its files: SQLite's own, and what is remembered.
LEDGER_ENDS = ("-wal", "-shm", "-journal", "-head")
_LEDGERS_OWN = re.compile(rf"(.+)(?:{'|'.join(LEDGER_ENDS)}|-answers-[0-9a-f]{{16}})", re.DOTALL)


def write_whole(
    path: Place,
    content: bytes | str,
    *,
    replace: bool = True,
    mode: int = 0o600,
    durable: bool = True,
) -> None:
    """``content`` at ``path``, on disk when this returns; text as UTF-8.

    Where it need not be ``durable`` a power cut may give the old file back. Without ``replace`` a
    file that is already there stays and ``FileExistsError`` is raised: of several processes at once
    exactly one wins. ``mode`` is ``for_others()`` for what is meant for others.
    """
    with _temporary(path, replace=replace, durable=durable) as (file, name):
        # by its handle: in a folder of several people the name may be somebody's link by now
        file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(file.fileno() if os.chmod in os.supports_fd else name, mode)
        file.flush()
        os.fsync(file.fileno())


def refuse_ledgers_place(path: Place) -> None:
    """Refuse the names that belong to a ledger: SQLite deletes and overwrites what is there."""
    target = Path(path)
    found = _LEDGERS_OWN.fullmatch(target.name)
    if found is not None and target.with_name(found[1]).is_file():
        raise DeclarationError(
            f"{target.name} is the name of a file of a ledger, and nothing takes its place: it "
            "would be lost at the next charge. Choose another name."
        )


def write_paid(path: Place, content: bytes | str, *, overwrite: bool, mode: int = 0o600) -> None:
    """As ``write_whole``, for what was paid for: a file that holds something else stays.

    The same content may be written again; of several processes at once one wins.
    """
    refuse_ledgers_place(path)
    raw = content.encode() if isinstance(content, str) else content
    try:
        write_whole(path, raw, replace=overwrite, mode=mode)
    except FileExistsError:
        there = Path(path)
        if there.is_file() and there.stat().st_size == len(raw) and there.read_bytes() == raw:
            return
        raise DeclarationError(
            f"{there.name} is already there, and what it holds may have been paid for. Choose "
            "another name, or pass overwrite=True."
        ) from None


def write_through(
    path: Place, fill: Callable[[str], Any], *, replace: bool = True, mode: int = 0o600
) -> None:
    """As ``write_whole``, for content that a library writes into a file of a given name."""
    with _temporary(path, replace=replace) as (file, name):
        file.close()
        fill(name)
        os.chmod(name, mode)
        sync(name)


@contextmanager
def _temporary(
    path: Place, *, replace: bool, durable: bool = True
) -> Iterator[tuple[BinaryIO, str]]:
    """A new file beside ``path`` and its name; it takes the place of ``path`` when it is left."""
    target = Path(path)
    # the ending is kept: libraries choose the format by it; no name is longer than the one meant
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.stem[:40]}.part.", suffix=target.suffix[-40:]
    )
    try:
        with open(handle, "wb") as file:
            yield file, name
        if replace:
            os.replace(name, target)
        else:
            _name_new(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)


def _name_new(temporary: str, target: Path) -> None:
    """Give a finished file a name that nobody has; a link cannot take one that is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        create_new(target)  # without links: claim the name, then replace the claim
        try:
            os.replace(temporary, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return
    with suppress(OSError):  # what is at its place is there, also on a disk that fails just now
        os.unlink(temporary)


def for_others() -> int:
    """Rights of a file that everybody may read, less what the user's umask takes away.

    Predictions are about people: who keeps new files to themselves keeps these, too.
    """
    taken = os.umask(0o077)  # it can only be read by setting it; this one shows nobody anything
    os.umask(taken)
    return 0o644 & ~taken


def create_new(path: Place) -> None:
    """An empty file of this name; ``FileExistsError`` where there is one already."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def sync(path: Place) -> None:
    """What was written to the file is on disk when this returns."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Place) -> None:
    """Make a name durable that was given or taken, where the system allows it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def alone_in(folder: Place) -> Iterator[None]:
    """While nobody else is in this folder who asks so, where the system has such locks.

    For a file that is read, changed and written anew: of two at once one would undo the other.
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def probe(folder: Place, size: int = 1) -> None:
    """Write and remove a file of ``size`` bytes, durably; raises the ``OSError`` of the first try.

    Called before a charge: what cannot be written is found while nothing is lost.
    """
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".privet-probe.") as file:
        file.write(bytes(size))
        file.flush()
        os.fsync(file.fileno())


def hold(folder: Place, size: int) -> BinaryIO:
    """Room for ``size`` bytes that nobody else takes until it is closed; raises as ``probe``."""
    file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  held by the caller
    try:
        if file.write(bytes(size)) < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())
    except BaseException:
        file.close()
        raise
    return cast(BinaryIO, file)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Place) -> str:
    """SHA-256 of a file, to say which one is meant."""
    return digest(read_whole(path, LARGEST))


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, shortest exact numbers, no NaN."""
    return _ENCODER.encode(value)


def printable(text: str, keep: str = "") -> str:
    """``text`` without what could forge a line or move a cursor, except the characters in ``keep``.

    Names come from other people's files.
    """
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def shortened(text: str, longest: int) -> str:
    """``text`` as ``printable`` has it, cut in the middle: ends tell one name from the next."""
    clean = printable(text)
    if len(clean) <= longest:
        return clean
    return f"{clean[: longest // 2]}…{clean[len(clean) - (longest - 1) // 2 :]}"
