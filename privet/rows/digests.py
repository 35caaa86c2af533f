"""A digest of what rows are made of: it sees every cell and its place, under a secret of the fit.

The arrays are read one after the other as words ``w_1, ..., w_B`` of 32 bits. A block becomes two
sums modulo 2^64 with secret words ``k`` of 64 bits,

    h = sum_i k_i w_i,    h' = sum_i k_(i+1) w_i,

and a keyed BLAKE2b of all sums, of the first row's number and of the shapes is the digest.

What it notices. Let two blocks differ, in a cell or in the order of rows, in a way that does not
depend on the key. Each difference ``d_i`` of words is smaller than 2^32, so that 2^31 at most
divides those that are not zero. Let ``2^t`` be the largest power of two that divides all ``d_i``,
and ``j`` the last place where no larger one divides ``d_j``. Given the other words of the key, that
both blocks have the same ``h`` and the same ``h'`` are two linear equations in ``k_j`` and
``k_(j+1)``, with the determinant ``d_j^2 - d_(j+1) d_(j-1)``: ``4^t`` times an odd number, since
``2^(t+1)`` divides ``d_(j+1)``. Both hold with a probability of at most ``4^(t - 64) <= 2^-66``
(multilinear hashing: Lemire and Kaser 2014; a second sum by a shifted key: Krovetz, RFC 4418).
BLAKE2b of 128 bits and the expansion of the key by SHAKE-128 are taken to be as good as random. So
a change is missed with a probability below 2^-64, whether it is an accident or the work of a source
that means harm, unless that source can read the memory of this process or of a worker: the key is
drawn anew for every table that is opened, and neither it nor a digest is shown.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.rows.scratch import scratch

Words = NDArray[np.uint64]
#: Words of a block: with their key they fit the second-level cache.
BLOCK_WORDS = 1 << 15
KEY_BYTES = 16


def fresh_key() -> bytes:
    """A secret under which no other table is read; it has nothing to do with the noise."""
    return secrets.token_bytes(KEY_BYTES)


@lru_cache(maxsize=4)
def _expanded(key: bytes) -> Words:
    expanded = hashlib.shake_128(key).digest(8 * (BLOCK_WORDS + 1))
    return np.frombuffer(expanded, dtype=np.uint64)


def digest(key: bytes, start: int, *parts: NDArray[Any]) -> bytes:
    """A digest of arrays with an entry for each row, from row number ``start`` on."""
    weights, found = _expanded(key), hashlib.blake2b(key=key, digest_size=16)
    found.update(repr((start, [(part.shape, part.dtype.str) for part in parts])).encode())
    block, filled = scratch((BLOCK_WORDS,), np.uint64), 0
    for part in parts:
        words = _words(part)
        while len(words):
            room = BLOCK_WORDS - filled
            taken, words = words[:room], words[room:]
            block[filled : filled + len(taken)] = taken
            filled += len(taken)
            if filled == BLOCK_WORDS:
                found.update(_sums(block, weights))
                filled = 0
    found.update(_sums(block[:filled], weights))
    return found.digest()


def _words(part: NDArray[Any]) -> NDArray[np.uint32]:
    """The bits of an array as words of 32 bits, the last one filled up with zeros."""
    part = np.ascontiguousarray(part).reshape(-1)
    if part.dtype.itemsize % 4 == 0:
        return part.view(np.uint32)
    octets = part.view(np.uint8)
    rest = -len(octets) % 4
    return (np.pad(octets, (0, rest)) if rest else octets).view(np.uint32)


def _sums(words: Words, weights: Words) -> bytes:
    """Both sums of a block."""
    count = len(words)
    both = (weights[:count], weights[1 : count + 1])
    return b"".join(np.einsum("i,i->", words, each).tobytes() for each in both)


def joint(digests: list[bytes]) -> bytes:
    """One digest for several of the same length, in their order."""
    return hashlib.blake2b(b"".join(digests), digest_size=16).digest()
