"""Whether the file of a ledger lies where all who charge it meet: one name, one log, true locks.

SQLite keeps its log and its locks beside the name by which a file was opened. Two hard links, or a
mount of the file alone, give one file two such places: each would grant the last unit. A file
system whose locks do nothing grants it to everybody. What can be known of this is known before a
charge: the number of links, the mounts that the kernel lists, and what a second process says that
tries to take a lock which this one holds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from privet._files import LEDGER_ENDS
from privet.errors import LedgerError
from privet.ledger.statx import is_mounted

MOUNTS = Path("/proc/self/mountinfo")
#: Options under which a network file system keeps its locks to one machine.
_LOCAL = {"nolock", "local_lock=all", "local_lock=posix", "nobrl"}
#: File systems that never tell another machine of a lock: folders of the host in a virtual machine,
_ALONE = {"9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "fuse.vmhgfs-fuse", "fuse.grpcfuse"}
#: ... and stores that only look like folders.
_ALONE |= {"fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.blobfuse2"}
_ELSEWHERE = "Nothing was released. Keep the ledger on a local disk, or on a PostgreSQL server."
# the lock that SQLite takes, asked for by another process; 3: it is held, as it should be
_ASK = """
import fcntl, sys
try:
    fcntl.lockf(int(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit(3)
"""
_HELD, _FREE = 3, 0
#: Whether locks hold, by device; asked once in a process.
_KNOWN: dict[int, bool] = {}


class Mount(NamedTuple):
    """A line of the kernel's list of mounts."""

    point: str
    kind: str
    options: frozenset[str]


def refuse_place(path: Path) -> None:
    """Raise ``LedgerError`` where others could charge this file without being seen."""
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except OSError:
        raise LedgerError(f"The ledger {path.name} was removed while it was opened.") from None
    if found.st_nlink > 1:
        raise LedgerError(
            f"The ledger {path.name} has {found.st_nlink} names (hard links), and those who use "
            "another name do not see this one's log. Nothing was released. Keep one name and "
            "remove the others; symbolic links may stay."
        )
    mounts = list(_mounts())
    alone = {real + end for end in ("", *LEDGER_ENDS)}  # a log of its own has locks of its own
    if any(mount.point in alone for mount in mounts) or any(map(is_mounted, map(Path, alone))):
        raise LedgerError(
            f"The ledger {path.name}, or a file beside it, is mounted as a single file, without "
            "the folder that holds its log. Nothing was released. Mount the folder."
        )
    here = max((m for m in mounts if _within(real, m.point)), key=_depth, default=None)
    if here is not None and (here.kind in _ALONE or here.options & _LOCAL):
        raise LedgerError(
            f"The ledger {path.name} lies on a file system ({here.kind}) whose locks other "
            f"machines do not see. {_ELSEWHERE}"
        )
    if not _locks_hold(os.path.dirname(real), found.st_dev):
        raise LedgerError(
            f"The ledger {path.name} lies on a file system whose locks do nothing: a second "
            f"process was given a lock that this one holds. {_ELSEWHERE}"
        )


def _mounts() -> Iterator[Mount]:
    """What the kernel has mounted; nothing where it does not say."""
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) > 5 and len(rest) > 2:
            options = frozenset(f"{fields[5]},{rest[2]}".split(","))
            yield Mount(_unescaped(fields[4]), rest[0], options)


def _unescaped(text: str) -> str:
    """Spaces and the like are written in octal."""
    for written, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(written, meant)
    return text


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith("/") else folder + "/")


def _depth(mount: Mount) -> int:
    return len(mount.point)


def _locks_hold(folder: str, device: int) -> bool:
    """Whether a second process is refused a lock; True where that cannot be asked."""
    if device not in _KNOWN:
        _KNOWN[device] = _asked(folder) != _FREE
    return _KNOWN[device]


def _asked(folder: str) -> int:
    if os.name != "posix" or not sys.executable or getattr(sys, "frozen", False):
        return _HELD
    import fcntl

    try:
        with tempfile.TemporaryFile(dir=folder) as file:  # without a name, which a kill would leave
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            command = [sys.executable, "-I", "-S", "-c", _ASK, str(file.fileno())]
            return subprocess.run(
                command, capture_output=True, timeout=60, check=False, pass_fds=(file.fileno(),)
            ).returncode
    except (OSError, subprocess.SubprocessError):  # no locks at all: SQLite itself will refuse
        return _HELD
