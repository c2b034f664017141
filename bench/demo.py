"""The demo: trains a small model on four tasks, then breaks one, and shows the explanation."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TRAIN = str(HERE / "workloads" / "parameter_server.py")
CGROUP = Path("/sys/fs/cgroup/memory")
LIMIT_BYTES = 700 << 20
CLUSTER = ("--chief", "--ps", "1", "--workers", "2", "--tasks", "chief")


def main() -> int:
    if len(sys.argv) > 1:
        return play_task(sys.argv[1], sys.argv[2:])
    began_s = time.monotonic()
    folder = Path("holdfast-runs") / f"demo-{time.strftime('%Y%m%d-%H%M%S')}"
    codes = [act(folder, *scene) for scene in scenes()]
    say(f"That was the demo: {time.monotonic() - began_s:.0f} s. Next: holdfast explain")
    return 0 if all(codes) else 1


def scenes() -> Iterator[tuple[str, int, list[str]]]:
    """What to say, the exit code that must come, and what every task executes."""
    yield (
        "1. A healthy job: 1 parameter server, 2 workers, 1 chief. Nothing to report.",
        0,
        [sys.executable, TRAIN, "--steps", "100"],
    )
    yield (
        "2. A leftover process holds the port of worker:1. Its chief would wait in silence.",
        75,
        [sys.executable, __file__, "leftover", TRAIN],
    )
    if os.access(CGROUP, os.W_OK):
        yield (
            "3. The parameter server hits its memory limit. The chief's log blames a worker.",
            137,
            [
                *(sys.executable, __file__, "limit", TRAIN, "--steps", "5000"),
                *("--grow-task", "ps:0", "--grow-mb-per-s", "150"),
            ],
        )
    else:
        say("3. (left out: making a memory limit takes root and a memory cgroup)")


def act(folder: Path, story: str, code: int, command: list[str]) -> bool:
    say(story)
    run_dir = folder / f"exit-{code}"
    holdfast = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run_dir)]
    print("$ holdfast run", *CLUSTER, "-- python train.py", flush=True)
    got = subprocess.run([*holdfast, *CLUSTER, "--", *command], check=False).returncode
    print(f"exit code {got}" + ("" if got == code else f", but {code} was expected"), flush=True)
    with contextlib.suppress(OSError):
        cgroup().rmdir()
    return got == code


def play_task(fault: str, command: list[str]) -> int:
    """Inside a task: make the trouble if it is ours, then become the training program."""
    task = os.environ["HOLDFAST_TASK"]
    if fault == "leftover" and task == "worker:1":
        leave_listener()
    if fault == "limit" and task == "ps:0":
        cgroup().mkdir(exist_ok=True)
        (cgroup() / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
        (cgroup() / "cgroup.procs").write_text(str(os.getpid()))
    os.execv(sys.executable, [sys.executable, *command])


def leave_listener() -> None:
    """Something else listens where worker:1 should."""
    address: str = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][1]
    command = [sys.executable, "-m", "http.server", address.rpartition(":")[2]]
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cgroup() -> Path:
    return CGROUP / "holdfast-demo"


def say(words: str) -> None:
    print(f"\n── {words}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
