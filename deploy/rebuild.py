"""``make dist``: the wheel and the source archive, built twice and equal to the last byte.

The source archive is packed by setuptools and then written again with what differs between two
machines taken out: the order of files, their times, owners and modes. The wheel is built from it
and written again in the same way. Times are SOURCE_DATE_EPOCH, by default that of the last commit.
So whoever has the commit and the same setuptools can build the files and compare their SHA-256.

    python deploy/rebuild.py dist
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EARLIEST = 315532800  # zip files have no time before 1980


def epoch() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        given = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return max(int(given), EARLIEST)


def copied(folder: Path) -> Path:
    """The committed files, and nothing else of the checkout."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True
    )
    source = folder / "source"
    for name in filter(None, listed.stdout.decode().split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    return source


def built(folder: Path) -> list[Path]:
    """Both archives, written again without what differs between machines."""
    source, out = copied(folder), folder / "out"
    options = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*options, "--sdist", str(source)], check=True, stdout=subprocess.DEVNULL)
    (archive,) = out.glob("*.tar.gz")
    _again_tar(archive)
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    subprocess.run([*options, "--wheel", str(unpacked)], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = out.glob("*.whl")
    _again_zip(wheel)
    return [archive, wheel]


def _again_tar(path: Path) -> None:
    buffer, at = io.BytesIO(), epoch()
    with tarfile.open(path) as old, tarfile.open(fileobj=buffer, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid = at, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=at))


def _again_zip(path: Path) -> None:
    buffer, when = io.BytesIO(), time.gmtime(epoch())[:6]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in sorted(old.namelist()):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100644 if not name.endswith("/") else 0o40755) << 16
            entry.create_system = 3
            new.writestr(entry, old.read(name), zipfile.ZIP_DEFLATED)
    path.write_bytes(buffer.getvalue())


def main() -> None:
    """Build twice, compare, and keep one."""
    place = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first, second = (built(Path(folder)) for folder in (one, two))
        for a, b in zip(first, second, strict=True):
            if a.read_bytes() != b.read_bytes():
                sys.exit(f"{a.name} differs between two builds.")
            place.mkdir(exist_ok=True)
            shutil.copyfile(a, place / a.name)
            print(f"{hashlib.sha256(a.read_bytes()).hexdigest()}  {a.name}")


if __name__ == "__main__":
    main()
