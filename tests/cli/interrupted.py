"""Runs a command again and again, stopped at the first step, at the second, ... until it ends.

``python -m tests.cli.interrupted HOW EVERY SETUP COMMAND...``: a step is whatever opens, names or
removes something in the current folder. HOW is ``killed`` (SIGKILL before the step) or ``full``
(the system has no room for it). With EVERY above 1 only each EVERY-th step is tried, from a random
one of the first on. SETUP is Python that fills an empty folder. Prints a line of JSON for each run:
what it ended with, what it said, and the folder it left. The library is loaded once; each run is a
fork of it.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import json
import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

#: What counts as a step, and which of its arguments is the path.
STEPS = {
    "open": 0,
    "os.remove": 0,
    "os.mkdir": 0,
    "os.rmdir": 0,
    "sqlite3.connect": 0,
    "os.link": 1,
    "os.rename": 1,
}
MOST = 400


class Stop:
    """Ends the process, or refuses it room, at the step of this number."""

    def __init__(self, how: str, at: int, folder: str, told: int) -> None:
        self.how, self.at, self.folder, self.told = how, at, folder, told
        self.steps = 0

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if event not in STEPS or not isinstance(given[STEPS[event]], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(given[STEPS[event]]))
        if not path.startswith(self.folder) or (event == "open" and not _writes(*given[1:3])):
            return
        self.steps += 1
        if self.steps == self.at:
            os.write(self.told, b"stopped")
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.path.basename(path))


def _writes(mode: str | None, flags: int) -> bool:
    if mode is None:
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return any(letter in mode for letter in "wax+")


def run(stop: Stop, command: list[str]) -> None:
    """The command in this process, stopped; standard error goes to the folder's neighbor."""
    from privet.cli import main

    sys.argv = ["privet", *command]
    sys.addaudithook(stop)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def load_all(setup: str, command: list[str]) -> None:
    """Every module that the command opens, found by a run to its end in a process of its own.

    Without this each of the runs would open them anew, which takes longer than the command.
    """
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile("w+") as found:
        child = os.fork()
        if child == 0:
            os.chdir(place)
            nothing = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nothing, stream)
            exec(setup, {})
            from privet.cli import main

            sys.argv = ["privet", *command]
            with contextlib.suppress(SystemExit):
                main()
            found.write("\n".join(sys.modules))
            found.flush()
            os._exit(0)
        os.waitpid(child, 0)
        found.seek(0)
        for name in found.read().split():
            with contextlib.suppress(Exception):  # made while running, and not to be opened by name
                importlib.import_module(name)


def interrupted(how: str, every: int, setup: str, command: list[str]) -> None:
    """All runs, each in a folder of its own."""
    load_all(setup, command)
    for at in range(random.randint(1, every), MOST, every):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.realpath(place)
            os.chdir(folder)
            with contextlib.redirect_stdout(io.StringIO()):
                exec(setup, {})
            with tempfile.TemporaryFile("w+") as said:
                heard, told = os.pipe()
                child = os.fork()
                if child == 0:
                    for stream in (1, 2):
                        os.dup2(said.fileno(), stream)
                    run(Stop(how, at, folder, told), command)
                os.close(told)
                with os.fdopen(heard, "rb") as pipe:
                    stopped = bool(pipe.read())
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                said.seek(0)
                left = {
                    str(file.relative_to(folder)): file.read_bytes().hex()
                    for file in Path(folder).rglob("*")
                    if file.is_file()
                }
                print(json.dumps({"at": at, "code": code, "said": said.read(), "left": left}))
            os.chdir("/")
        if not stopped:
            return


if __name__ == "__main__":
    interrupted(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
