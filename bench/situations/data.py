"""Files that several tasks write: merged, fed by a queue, shared, damaged, in one folder."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import h5py
from bench.situations.situation import HOLDFAST, Run, Situation, Told, program, words_of

WORKERS = ("--workers", "4")
ROWS = 2000  # of each worker's file
APPENDS, ROWS_EACH = 4000, 10
ROUNDS = 40
LOCKS_OFF = {"HDF5_USE_FILE_LOCKING": "FALSE"}
SOON_S = 15.0


def merges(folder: Path) -> Told:
    with Run(folder, WORKERS, program("own_files")) as run:
        code = run.wait(90)
    done = _holdfast(folder, "merge", *_own_files(folder), "-o", "all.h5")
    if code != 0 or done.returncode != 0:
        return Told(f"run {code}, merge {done.returncode}: {done.stdout[-300:]}", right=False)
    with h5py.File(folder / "all.h5") as file:
        x, step, task = (file[f"samples/{name}"] for name in ("x", "step", "x.task"))
        right = len(x) == len(step) == len(task) == 4 * ROWS
        for worker in range(4):
            part = slice(worker * ROWS, (worker + 1) * ROWS)
            right &= {str(name, "utf-8") for name in task[part]} == {f"worker_{worker}"}
            right &= list(step[part]) == list(range(ROWS))
            right &= bool((abs(x[part, 0] - worker) < 0.5).all())
        right &= file.attrs["model"] == "resnet"
    return Told(_last_line(done), right=right)


def differs(folder: Path) -> Told:
    with Run(folder, WORKERS, program("own_files", "--last-in-float64")) as run:
        run.wait(90)
    done = _holdfast(folder, "merge", *_own_files(folder), "-o", "all.h5")
    named = ("worker_3", "samples/x", "float64", "float32")
    right = done.returncode != 0 and all(word in done.stdout for word in named)
    return Told(_last_line(done), right=right and not (folder / "all.h5").exists())


def crashed(folder: Path) -> Told:
    """One file was never closed: it is refused by name, and the others are merged without it."""
    with Run(folder, WORKERS, program("own_files", "--second-crashes")) as run:
        run.wait(90)
        report = run.report()
    culprits = [one["culprit"] for one in report["findings"] if one["severity"] == "error"]
    refused = _holdfast(folder, "merge", *_own_files(folder), "-o", "all.h5")
    right = culprits[:1] == ["worker:1"] and refused.returncode != 0
    right &= "worker_1.h5" in refused.stdout and "holdfast rescue" in refused.stdout
    merged = _holdfast(folder, "merge", *_own_files(folder), "-o", "all.h5", "--skip-damaged")
    right &= "worker_1.h5" in merged.stdout and (folder / "all.h5").exists()
    if right:
        with h5py.File(folder / "all.h5") as file:
            right = len(file["samples/x"]) == 3 * ROWS
    return Told(f"{words_of(report['findings'])} | {_last_line(refused)}", right=right)


def keeps_rows(folder: Path) -> Told:
    """The central writer is killed, then a worker; all that was acknowledged is there, once."""
    kept = folder / "kept"
    first = _central(kept)
    second = None
    options = ("--workers", "3")
    try:
        with Run(folder, options, program("rows_task", str(kept), str(APPENDS))) as run:
            run.until(lambda _: _acknowledged(folder) > 600, 60)
            first.kill()
            first.wait()
            run.until(lambda _: _acknowledged(folder) > 2400, 60)
            second = _central(kept)
            os.kill(_pid_of(run, "worker:1"), signal.SIGKILL)
            run.wait(120)
            report = run.report()
        second.communicate(timeout=60)
    finally:
        for one in (first, second):
            if one is not None and one.poll() is None:
                one.kill()
    merged = _holdfast(folder, "merge", "kept", "-o", "all.h5")
    lost, twice = _compared(folder)
    culprits = [one["culprit"] for one in report["findings"] if one["severity"] == "error"]
    right = merged.returncode == 0 and not lost and not twice and culprits[:1] == ["worker:1"]
    says = f"{_acknowledged(folder)} appends acknowledged, {lost} lost, {twice} double"
    clean = second.returncode == 0
    return Told(f"{says}; {words_of(report['findings'])}", right=right and clean)


def queue_killed(folder: Path) -> Told:
    """With a queue of its own and plain h5py: who died, and who waits at which line."""
    with Run(folder, ("--workers", "1"), program("queue_writer")) as run:
        run.until(lambda _: _size(folder / "all.h5") > 4000, 60)
        os.kill(int((folder / "writer.pid").read_text()), signal.SIGKILL)
        at_s = run.until(lambda one: _names(one, "queue_writer.py:", "SIGKILL"), 90)
        told = words_of(list(reversed(run.told())))
        run.stop()
        verdict = run.report()["verdict"]
    saved = _holdfast(folder, "rescue", "all.h5", "-o", "saved.h5")
    right = at_s is not None and at_s < SOON_S and verdict != "healthy" and saved.returncode == 0
    return Told(f"{told} | {verdict} | {_last_line(saved)}", right=right, after_s=at_s)


def guarded(folder: Path) -> Told:
    return _guarded(folder, {})


def guarded_without_locks(folder: Path) -> Told:
    return _guarded(folder, LOCKS_OFF)


def _guarded(folder: Path, env: dict[str, str]) -> Told:
    options = (*WORKERS, "--guard-hdf5")
    with Run(folder, options, program("shared_file", "--patient"), env) as run:
        code = run.wait(180)
    with h5py.File(folder / "shared.h5") as file:
        whole = all(
            (file[f"worker_{worker}/round_{number}"][:] == number).all()
            for worker in range(4)
            for number in range(ROUNDS)
        )
    return Told(f"exit {code}, {'every' if whole else 'not every'} row", right=whole and code == 0)


def locked(folder: Path) -> Told:
    """HDF5 itself refuses the second writer: that it was one, which file, who has it."""
    with Run(folder, WORKERS, program("shared_file")) as run:
        code = run.wait(120)
        report = run.report()
    first = report["findings"][0] if report["findings"] else {}
    right = code != 0 and str(first.get("cause", "")).startswith("hdf5-")
    right &= "shared.h5" in f"{first.get('says')}{first.get('do')}"
    return Told(words_of(report["findings"]), right=right)


def unlocked(folder: Path) -> Told:
    """Nobody stops the second writer: it is named, and the damage, and what reads is saved."""
    with Run(folder, WORKERS, program("shared_file"), LOCKS_OFF) as run:
        run.wait(120)
        report = run.report()
    saved = _holdfast(folder, "rescue", "shared.h5", "-o", "saved.h5")
    named = [one for one in report["findings"] if "shared.h5" in f"{one['says']}{one['do']}"]
    writers = {one for one in map("worker:{}".format, range(4)) if one in str(named[:1])}
    right = len(writers) > 1 and report["verdict"] != "healthy"
    kept = _datasets(folder / "saved.h5")
    says = f"{words_of(report['findings'])} | {kept} of {4 * ROUNDS} datasets saved"
    return Told(f"{says} | {_last_line(saved)}", right=right and kept > 0)


def _datasets(path: Path) -> int:
    found: list[str] = []
    with h5py.File(path) as file:
        file.visititems(
            lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None
        )
    return len(found)


def same_summaries(folder: Path) -> Told:
    return _one_folder(folder, "summaries")


def same_checkpoints(folder: Path) -> Told:
    return _one_folder(folder, "checkpoints")


def _one_folder(folder: Path, what: str) -> Told:
    """Both tasks, what both write, and the folder."""
    named = ("worker:0 and worker:1", f"write {what} into one folder, {folder / 'logs'}")
    with Run(folder, ("--workers", "2"), program("one_folder")) as run:
        run.until(_steps_of_both, 240)
        at_s = run.until(lambda one: _names(one, *named), 60)
        run.stop()
        told = [one["says"] for one in run.told() if one["cause"] == "two-writers"]
    right = at_s is not None and at_s < SOON_S
    return Told(" | ".join(told) or words_of(run.told()), right=right, after_s=at_s)


def _steps_of_both(run: Run) -> bool:
    logs = (run.run_dir / "logs" / f"worker-{index}.1.out" for index in range(2))
    return all(log.exists() and b"saved" in log.read_bytes() for log in logs)


def _names(run: Run, *words: str) -> bool:
    told = [f"{one['says']}{one['do']}" for one in run.told() if one["severity"] != "info"]
    return any(all(word in text for word in words) for text in told)


def _own_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("worker_*.h5"))


def _holdfast(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HOLDFAST, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        check=False,
    )


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stdout.strip().splitlines()
    return f"{done.returncode}: {' / '.join(lines[-3:])}"[:400]


def _central(kept: Path) -> subprocess.Popen[str]:
    kept.mkdir(exist_ok=True)
    command = program("rows_central", str(kept))
    started = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.readline()
    return started


def _acknowledged(folder: Path) -> int:
    return sum(len(path.read_text().split()) for path in folder.glob("*.acknowledged"))


def _compared(folder: Path) -> tuple[int, int]:
    """How many acknowledged appends are not there whole, and how many of any are there twice."""
    acknowledged = {
        int(word) for path in folder.glob("*.acknowledged") for word in path.read_text().split()
    }
    with h5py.File(folder / "all.h5") as file:
        there = Counter(int(value) for value in file["samples/x"][:, 0])
    lost = sum(there[number] < ROWS_EACH for number in acknowledged)
    return lost, sum(count > ROWS_EACH for count in there.values())


def _pid_of(run: Run, task: str) -> int:
    """The process of a task, by what it was given."""
    words = {f"HOLDFAST_TASK={task}", f"HOLDFAST_RUN_DIR={run.run_dir}"}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = set((folder / "environ").read_text(errors="replace").split("\0"))
        except OSError:
            continue
        if words <= environ:
            return int(folder.name)
    raise LookupError(f"no process of {task}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


SITUATIONS: Sequence[Situation] = (
    Situation("C1-merge", "one file, every row of the right worker, by stated rules", merges),
    Situation("C1-type-differs", "refused: both files, the dataset, both types", differs),
    Situation("C1-crashed", "which file was never closed; the others merged", crashed),
    Situation("C2-central-killed", "nothing lost that was acknowledged, nothing twice", keeps_rows),
    Situation(
        "C2-queue-killed", "the writer's death, who waits for it at which line", queue_killed
    ),
    Situation("C3-guarded", "all rows of all, never a damaged file", guarded),
    Situation("C3-guarded-no-locks", "the same with HDF5's own locks off", guarded_without_locks),
    Situation("C3-locks-on", "the second writer, which file, who has it open", locked),
    Situation("C3-locks-off", "two writers while they write, the damage, what reads", unlocked),
    Situation("C4-summaries", "both tasks, that they mix summaries, the folder", same_summaries),
    Situation("C4-checkpoints", "the same of checkpoints, each a moment long", same_checkpoints),
)
