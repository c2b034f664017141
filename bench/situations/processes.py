"""What a task starts, writes and asks of others: pipes, floods, launchers, parameter servers."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.situations.situation import (
    HOLDFAST,
    PROGRAMS,
    Run,
    Situation,
    Told,
    program,
    words_of,
)

ROOT = Path(__file__).parents[2]
OLD_PYTHON = ROOT / ".envs" / "tensorflow-2.15" / "bin" / "python"
ONE = ("--workers", "1")
SERVED = ("--ps", "1", "--workers", "1")
TWO_SERVED = ("--ps", "1", "--workers", "2")
SOON_S = 15.0
START_S_MAX = 240.0
LINES = 5000  # of the child that nobody reads


def pipe_full(folder: Path) -> Told:
    with Run(folder, ONE, program("trains_in_a_child")) as run:
        blocked = run.until(lambda _: _blocked_child(folder) != 0, START_S_MAX)
        child = _blocked_child(folder)
        at_s = run.until(lambda one: bool(_of(one.told(), "pipe-full")), 60)
        told = _of(run.told(), "pipe-full")
        run.stop()
        verdict = run.report()["verdict"]
    if blocked is None or not told:
        return Told(words_of(run.told()), right=False)
    named = (f"pid {child}", "trains_in_a_child.py:", "worker:0")
    right = all(word in told[0]["says"] for word in named) and "communicate" in str(told[0]["do"])
    right &= at_s is not None and at_s < SOON_S and verdict != "healthy"
    return Told(told[0]["says"], right=right, after_s=at_s)


def run_process_instead(folder: Path) -> Told:
    with Run(folder, ONE, program("run_process_child")) as run:
        code = run.wait(START_S_MAX)
        right = code == 0 and f"it ended with 0, and wrote {LINES} lines" in run.text
        last = run.text.strip().splitlines()[-1:]
    return Told(f"exit {code}: {' '.join(last)}", right=right)


def flood(folder: Path) -> Told:
    """The terminal shows nothing any more, as after Ctrl-S: the task ends all the same."""
    ours, theirs = os.openpty()
    command = [*HOLDFAST, "run", "--run-dir", str(folder / "run"), *ONE, "--", *program("flood")]
    front = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, start_new_session=True
    )
    os.close(theirs)
    try:
        wrote = _wrote(folder / "wrote.json", within_s=180)
        began_s = time.monotonic()
        code = _read_to_the_end(front, ours, within_s=60)
        after_s = time.monotonic() - began_s
    finally:
        if front.poll() is None:
            os.killpg(front.pid, signal.SIGKILL)
            front.wait()
        os.close(ours)
    kept = folder / "run" / "logs" / "worker-0.1.err"
    whole = hashlib.sha256(kept.read_bytes()).hexdigest() == wrote.get("sha256")
    size = kept.stat().st_size
    kept.unlink()
    says = f"exit {code}, {size / 1e6:.0f} MB kept {'whole' if whole else 'NOT WHOLE'}"
    took = f", written in {wrote.get('seconds', -1):.0f} s with nobody who reads"
    return Told(says + took, right=whole and code == 0, after_s=after_s)


def grandchild(folder: Path) -> Told:
    with Run(folder, ONE, program("leaves_a_child")) as run:
        run.until(lambda one: b"trained" in _log(one, "worker-0.1.out"), 60)
        began_s = time.monotonic()
        code = run.wait(60)
        after_s = time.monotonic() - began_s
        lines = _log(run, "worker-0.1.err").count(b"\n")
    server = int((folder / "server.pid").read_text())
    left = _runs(server)
    if left:
        os.kill(server, signal.SIGKILL)
    right = code == 0 and lines == 20_000 and after_s < SOON_S and not left
    says = f"exit {code}, {lines} of 20000 lines, the server {'still runs' if left else 'is gone'}"
    return Told(says, right=right, after_s=after_s)


def launcher(folder: Path) -> Told:
    """Both children fail over what is no JSON, and the script ends with 0."""
    with Run(folder, ONE, program("launcher")) as run:
        run.until(lambda one: b"training finished" in _log(one, "worker-0.1.out"), START_S_MAX)
        began_s = time.monotonic()
        code = run.wait(60)
        after_s = time.monotonic() - began_s
        report = run.report()
    text = json.dumps(report["findings"])
    both = "Process-1" in text and "Process-2" in text
    right = both and "json.dumps" in text and report["verdict"] != "healthy"
    says = f"exit {code}, {report['verdict']}: {words_of(report['findings'])}"
    return Told(says, right=right, after_s=after_s)


def overloaded(folder: Path) -> Told:
    """The server computes for longer than the program waits: that it is the server's load."""
    return _deadline(folder, "slow_server", ("load", "busy", "overload", "comput", "core"))


def too_small(folder: Path) -> Told:
    return _deadline(folder, "small_server", ("memory",))


def _deadline(folder: Path, name: str, about: Sequence[str]) -> Told:
    options = {"slow_server": ("240",), "small_server": ()}[name]
    with Run(folder, SERVED, program(name, *options)) as run:
        code = run.wait(START_S_MAX)
        report = run.report()
    first: Mapping[str, Any] = report["findings"][0] if report["findings"] else {}
    says = f"{first.get('says', '')} {first.get('do', '')}"
    right = first.get("culprit") == "ps:0" and any(word in says.lower() for word in about)
    if name == "slow_server":
        right &= "operation_timeout_in_ms" in says
    return Told(f"exit {code}, {words_of(report['findings'])}", right=right and code != 0)


def other_dtype(folder: Path) -> Told:
    return _differs(folder, "precise", ("type",))


def other_shape(folder: Path) -> Told:
    return _differs(folder, "wide", ("[10,32]", "[10,64]"))


def _differs(folder: Path, kind: str, both: Sequence[str]) -> Told:
    """That the tasks differ, which of them may, in which variable or at which line."""
    with Run(folder, TWO_SERVED, program("other_variable", kind)) as run:
        run.until(lambda one: _failed(one, "worker-1.1.err"), START_S_MAX)
        at_s = run.until(lambda one: bool(_of(one.told(), "variable-mismatch")), 60)
        run.stop()
        findings = run.report()["findings"]
    told = findings[0]["says"] if findings else ""
    right = bool(findings) and findings[0]["cause"] == "variable-mismatch"
    right &= "dense/kernel" in told or "other_variable.py" in told
    right &= all(word in told for word in ("worker:0", "worker:1", *both))
    right &= at_s is not None and at_s < SOON_S
    return Told(words_of(findings), right=right, after_s=at_s)


def other_version(folder: Path) -> Told:
    command = program("host_python", str(PROGRAMS / "plain_session.py"), str(OLD_PYTHON))
    with Run(folder, TWO_SERVED, command) as run:
        run.until(lambda one: b"step" in _log(one, "worker-0.1.out"), START_S_MAX)
        at_s = run.until(lambda one: bool(_of(one.told(), "version-differs")), 60)
        told = _of(run.told(), "version-differs")
        run.stop()
    says = told[0]["says"] if told else words_of(run.told())
    right = bool(told) and all(word in says for word in ("worker:1", "2.15", "2.21"))
    return Told(says, right=right and at_s is not None and at_s < SOON_S, after_s=at_s)


def _of(
    told: Sequence[Mapping[str, Any]], cause: str, severity: str = ""
) -> list[Mapping[str, Any]]:
    return [
        one for one in told if cause in {"", one["cause"]} and severity in {"", one["severity"]}
    ]


def _log(run: Run, name: str) -> bytes:
    path = run.run_dir / "logs" / name
    return path.read_bytes() if path.exists() else b""


def _failed(run: Run, name: str) -> bool:
    text = _log(run, name)
    return b"Traceback" in text and b"Error" in text.rpartition(b"Traceback")[2]


def _blocked_child(folder: Path) -> int:
    """A process below this folder that waits until somebody reads its pipe."""
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if "pipe_write" in (one / "wchan").read_text() and (one / "cwd").readlink() == folder:
                return int(one.name)
    return 0


def _wrote(path: Path, within_s: float) -> Mapping[str, Any]:
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        with contextlib.suppress(OSError, ValueError):
            told: Mapping[str, Any] = json.loads(path.read_text())
            return told
        time.sleep(0.1)
    return {}


def _read_to_the_end(front: subprocess.Popen[bytes], terminal: int, within_s: float) -> int | None:
    """Ctrl-Q: somebody looks again. What was not shown meanwhile need not be."""
    until_s = time.monotonic() + within_s
    os.set_blocking(terminal, False)
    while front.poll() is None and time.monotonic() < until_s:
        with contextlib.suppress(BlockingIOError, OSError):
            while os.read(terminal, 1 << 16):
                pass
        time.sleep(0.02)
    return front.poll()


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


def _no_old_python() -> str:
    return "" if OLD_PYTHON.exists() else f"there is no {OLD_PYTHON.relative_to(ROOT)}"


SITUATIONS: Sequence[Situation] = (
    Situation("D1-pipe-full", "both processes, the line, the fix", pipe_full),
    Situation("D1-run-process", "it ends, and all of its lines are there", run_process_instead),
    Situation("D2-flood", "300 MB on stderr, a stopped terminal: nothing blocks or is lost", flood),
    Situation("D2-grandchild", "one that keeps the output open keeps nobody", grandchild),
    Situation("E1-launcher", "both failures, that it is no JSON, the fix; not healthy", launcher),
    Situation("E2-overloaded", "that the server is at its load, which deadline to set", overloaded),
    Situation("E2-too-small", "that the server's memory does not suffice", too_small),
    Situation(
        "E3-dtype", "which variable or line, that its type differs between which tasks", other_dtype
    ),
    Situation("E3-shape", "which variable or line, both shapes, which tasks", other_shape),
    Situation("E3-version", "which task, both versions", other_version, _no_old_python),
)
