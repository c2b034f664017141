"""A warm interpreter with the shim loaded: each run is a forked child that is armed and struck.

The interpreter and its imports are paid for once; orders and answers are lines of JSON.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from bench.rows.shim import NOTHING, How, Shim, Strike, built

ROOT = Path(__file__).parents[2]
CHILD_S_MAX = 120
PROGRAMS = "bench.rows.programs"

# A program runs in the child: it gets a folder and options, and tells what happened.
Tell = Callable[[Mapping[str, Any]], None]
Program = Callable[[Path, Mapping[str, Any], Tell], None]


@dataclass(frozen=True)
class Ended:
    """How a child ended, and what it told before."""

    status: int  # as waitpid gives it: negative is a signal
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def was_killed(self) -> bool:
        return self.status == -signal.SIGKILL

    def told(self, key: str) -> list[Any]:
        return [line[key] for line in self.lines if key in line]

    def one(self, key: str) -> Any:
        """What was told once, by a child that came to its end."""
        found = self.told(key)
        if self.status or not found:
            raise RuntimeError(f"a child ended with {self.status}: {self.told('broken') or '?'}")
        return found[-1]


class Warm:
    """Runs programs in children that may be struck."""

    def __init__(self, programs: str = PROGRAMS) -> None:
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environ = os.environ | {
            "LD_PRELOAD": str(built()),
            "PYTHONPATH": path.strip(os.pathsep),
            "OPENBLAS_NUM_THREADS": "1",  # threads do not survive a fork
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.rows.warm", programs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environ,
        )

    def run(
        self,
        program: str,
        folder: Path,
        options: Mapping[str, Any] | None = None,
        *,
        strike: Strike = NOTHING,
        record: Path | None = None,
        boot: Path | None = None,
    ) -> Ended:
        """Runs one program to its end, or to the strike; a record is of all that it changes.

        `boot` is a file with the id of the boot that it should see, if not the true one.
        """
        order = {
            "program": program,
            "folder": str(folder),
            "options": dict(options or {}),
            "strike": [int(strike.how), strike.at, strike.errno, strike.times],
            "record": str(record) if record else None,
            "boot": str(boot) if boot else None,
        }
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the warm interpreter has no pipes")
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the warm interpreter ended with {self._process.wait()}")
        return Ended(**json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait(timeout=CHILD_S_MAX)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Where struck folders lie: memory if there is one, because a kill does not ask the disk."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="holdfast-strike-", dir=place)


def main() -> None:
    programs = import_module(sys.argv[1])
    shim = Shim()
    for line in sys.stdin:
        order = json.loads(line)
        answer = _in_child(vars(programs)[order["program"]], order, shim)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _in_child(program: Program, order: dict[str, Any], shim: Shim) -> dict[str, Any]:
    """Acknowledgements come through a pipe: what is in it survives the child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _child(program, order, shim, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        lines = [json.loads(line) for line in pipe if line.endswith(b"\n")]
    _, status = os.waitpid(pid, 0)
    return {"status": os.waitstatus_to_exitcode(status), "lines": lines}


def _child(program: Program, order: dict[str, Any], shim: Shim, writing: int) -> None:
    status = 3
    signal.alarm(CHILD_S_MAX)
    os.dup2(2, 1)  # standard output is for answers
    folder = Path(order["folder"])
    how, at, error, times = order["strike"]
    strike = Strike(How(how), at, error, times)
    record = None

    def tell(line: Mapping[str, Any]) -> None:
        text = json.dumps(line).encode() + b"\n"
        shim.note(text)
        os.write(writing, text)

    try:
        if order["boot"]:
            shim.boot(Path(order["boot"]))
        if order["record"]:
            record = os.open(order["record"], os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
            strike = Strike(How.RECORD)
        shim.arm(folder, strike, -1 if record is None else record)
        program(folder, order["options"], tell)
        seen, kinds = shim.seen(), shim.kinds()
        shim.arm(folder, NOTHING)
        tell({"seen": seen, "kinds": kinds})
        status = 0
    except BaseException:  # noqa: BLE001 - told to the parent, whatever it was
        tell({"broken": traceback.format_exc()[-2000:]})
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
