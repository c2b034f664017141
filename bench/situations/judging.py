"""What the situations are judged by: who was told to the user, in which words, after how long."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.situations.situation import PROGRAMS, Run, Told, words_of

START_S_MAX = 300.0  # TensorFlow on a loaded machine
TOLD_S_MAX = 60.0
SOON_S = 15.0


def line_of(name: str, text: str) -> str:
    """Where a line of a program stands: `sleeps.py:9`."""
    lines = (PROGRAMS / f"{name}.py").read_text().splitlines()
    return f"{name}.py:{next(n for n, line in enumerate(lines, 1) if text in line)}"


def matching(
    findings: Iterable[Mapping[str, Any]],
    *,
    culprit: str | None,
    words: Sequence[str],
    severities: Sequence[str] = ("notice", "warning", "error"),
) -> Mapping[str, Any] | None:
    """The first that names this culprit and has all the words; None: nobody said it."""
    for one in findings:
        text = " ".join((one["says"], *one["do"], *(e["text"] for e in one["evidence"])))
        if (
            one["severity"] in severities
            and one["culprit"] == culprit
            and all(word in text for word in words)
        ):
            return one
    return None


def suffers(task: str, findings: Iterable[Mapping[str, Any]], *, culprit: str) -> bool:
    """Whether a task is told as one who waits for the culprit."""
    return any(
        one["culprit"] == culprit
        and (task in one["says"] or any(echo["task"] == task for echo in one["echoes"]))
        for one in findings
    )


def said(one: Mapping[str, Any] | None, run: Run) -> str:
    """That finding, or what was told instead."""
    return words_of([one]) if one else f"instead: {words_of(run.told())}"


def wrongly_accused(run: Run, *, but: Iterable[str | None]) -> list[str]:
    """Those of whom an error or a warning was told, and who did nothing wrong."""
    told = [one for one in run.told() if one["severity"] in {"error", "warning"}]
    # That others use the cores is true of a busy machine, and said as such.
    told = [one for one in told if one["cause"] != "cpu-starved"]
    return sorted({str(one["culprit"]) for one in told} - {str(task) for task in but})


def last_words_s(run: Run, task: str) -> float:
    """When a task last wrote something: from then on it could be known that it is silent."""
    logs = [*(run.run_dir / "logs").glob(f"{task.replace(':', '-')}.*.out")]
    return max((path.stat().st_mtime for path in logs), default=time.time())


def steps_of(run: Run, task: str) -> int:
    """The newest step that a task printed."""
    path = run.run_dir / "logs" / f"{task.replace(':', '-')}.1.out"
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    steps = [line.split()[1] for line in lines if line.startswith("step ")]
    return int(steps[-1]) if steps else 0


def hanging(
    run: Run, *, culprit: str, words: Sequence[str], victims: Sequence[str], from_step: int
) -> Told:
    """Of a job in which one falls silent after a step: what is told of it, and that it is soon."""
    if run.until(lambda one: steps_of(one, culprit) >= from_step, START_S_MAX) is None:
        return Told(f"it never trained: {words_of(run.told())}", right=False)

    def found(one: Run) -> Mapping[str, Any] | None:
        return matching(one.told(), culprit=culprit, words=words)

    run.until(lambda one: found(one) is not None, TOLD_S_MAX)
    after_s = time.time() - last_words_s(run, culprit)
    told = found(run)

    def are_known(findings: Iterable[Mapping[str, Any]]) -> bool:
        return all(suffers(task, findings, culprit=culprit) for task in victims)

    # Who is stopped is told before anybody has waited for it: those are in the report.
    run.until(lambda one: are_known(one.told()), SOON_S)
    innocent = wrongly_accused(run, but=(culprit,))
    run.stop()
    report = run.report()
    verdict, known = report["verdict"], are_known((*run.told(), *report["findings"]))
    soon = told is not None and after_s <= SOON_S
    right = soon and known and not innocent and verdict != "healthy"
    also = f" AND ACCUSES {innocent}" if innocent else ""
    return Told(f"{said(told, run)}; {verdict}{also}", right, after_s)
