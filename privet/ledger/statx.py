"""What Linux tells of a file by ``statx``, which Python's own ``stat`` does not ask."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD
_BIRTH = 0x800  # STATX_BTIME
_ROOT = 0x2000  # STATX_ATTR_MOUNT_ROOT, from Linux 5.8
#: Where the answer has what it tells of, the file's attributes, those it knows, the time of birth.
_MASK, _ATTRIBUTES, _KNOWN, _TIME = 0, 8, 56, 80


def birth(path: Path) -> int | None:
    """When the system made this file, in nanoseconds; None where it does not say."""
    answer = _asked(path)
    if answer is None or not _number(answer, _MASK, 4) & _BIRTH:
        return None
    seconds = int.from_bytes(answer[_TIME : _TIME + 8], sys.byteorder, signed=True)
    return seconds * 10**9 + _number(answer, _TIME + 8, 4)


def is_mounted(path: Path) -> bool:
    """Whether something is mounted at this very name, also where nobody lists the mounts."""
    answer = _asked(path)
    return answer is not None and bool(
        _number(answer, _ATTRIBUTES, 8) & _number(answer, _KNOWN, 8) & _ROOT
    )


def _asked(path: Path) -> bytes | None:
    ask = getattr(ctypes.CDLL(None), "statx", None) if os.name == "posix" else None
    answer = ctypes.create_string_buffer(256)
    if ask is None or ask(_HERE, os.fsencode(path), 0, _BIRTH, answer) != 0:
        return None
    return answer.raw


def _number(answer: bytes, at: int, size: int) -> int:
    return int.from_bytes(answer[at : at + size], sys.byteorder)
