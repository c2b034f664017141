"""Situations of starts that block (B1 to B5)."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.network import Network, available
from bench.output.envs import bin_of
from bench.situations.in_cgroup import limited, no_cgroups
from bench.situations.judging import (
    SOON_S,
    START_S_MAX,
    TOLD_S_MAX,
    hanging,
    line_of,
    matching,
    said,
    wrongly_accused,
)
from bench.situations.situation import HOLDFAST, PROGRAMS, Run, Situation, Told, program, words_of
from bench.surroundings import MOVE

TWO = ("--workers", "2")
THREE = ("--ps", "1", "--workers", "2")
OLD = "tensorflow-2.15"
OVER_S_MAX = 420.0
PORT = 22_222
SERVER_BYTES = 900 << 20
START_DEADLINE_S = 90
LOST = "worker:1"
HOSTS = {"ps:0": "host-a", "worker:0": "host-b", LOST: "host-c"}


def typo_in_files(folder: Path) -> Told:
    """Two TF_CONFIGs as files, as they lie on two hosts, before anything is started."""
    for index, port in enumerate((2222, 2223)):
        cluster = {"worker": [f"127.0.0.1:{port}", "127.0.0.1:3333"]}
        told = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        (folder / f"worker-{index}.json").write_text(json.dumps(told))
    began_s = time.monotonic()
    done = subprocess.run(
        [*HOLDFAST, "check", "--format", "json", "worker-0.json", "worker-1.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    after_s = time.monotonic() - began_s
    findings = json.loads(done.stdout)["findings"]
    entry = ("127.0.0.1:2222", "127.0.0.1:2223", "worker:0", "worker:1")
    found = next((one for one in findings if all(word in one["says"] for word in entry)), None)
    says = words_of([found]) if found else f"instead {words_of(findings)}"
    right = found is not None and done.returncode == 3 and after_s <= SOON_S
    return Told(f"exit code {done.returncode}; {says}", right, after_s)


def typo(
    folder: Path,
    *,
    options: Sequence[str],
    command: Sequence[str],
    whom: str,
    begins: Callable[[Run], bool],
) -> Told:
    """Worker 1 looks for somebody at the wrong port: both ports, whose entry, who listens.

    `begins`: whether that can be known by now.
    """
    limit = ("--start-deadline-s", str(START_DEADLINE_S))
    with Run(folder, (*options, *limit), command) as run:
        began = run.until(begins, START_S_MAX)
        loaded_s = time.time()

        def found(one: Run) -> Mapping[str, Any] | None:
            job = json.loads((one.run_dir / "run.json").read_text())
            port = int(job["cluster"][whom].rpartition(":")[2])
            words = (f":{port}", f":{port + 1}", whom)
            return matching(one.told(), culprit=LOST, words=words)

        run.until(lambda one: found(one) is not None, TOLD_S_MAX)
        after_s = time.time() - loaded_s if began is not None else None
        told, innocent = found(run), wrongly_accused(run, but=(LOST,))
        also = f" AND ACCUSES {innocent}" if innocent else ""
        right = told is not None and after_s is not None and after_s <= SOON_S and not innocent
        return Told(said(told, run) + also, right, after_s)


def _has_begun(run: Run) -> bool:
    return began_s(run) is not None


def began_s(run: Run) -> float | None:
    """When the last task wrote its first words while it loaded TensorFlow."""
    logs = [*(run.run_dir / "logs").glob("*.err")]
    expected = len(json.loads((run.run_dir / "run.json").read_text())["cluster"]) if logs else 1
    began = [path.stat().st_mtime for path in logs if b"cpu_feature_guard" in path.read_bytes()]
    return max(began) if len(began) == expected else None


def loses_network(folder: Path, *, for_s: float | None) -> Told:
    """The host of worker 1 is cut off while its session is created."""
    with (
        _hosts(folder, program("session_plain")) as (net, job),
        Run(folder, (str(job),), ()) as run,
    ):
        ready = run.until(_is_creating, START_S_MAX)
        if ready is None:
            return Told(f"no session was created: {words_of(run.told())}", right=False)
        net.isolate(HOSTS[LOST])
        cut_s = time.time()
        if for_s is None:
            return _given_up(run, cut_s)
        told_s = run.until(lambda one: _cut_told(one) is not None, for_s)
        time.sleep(max(0.0, cut_s + for_s - time.time()))
        net.heal()
        code = run.wait(OVER_S_MAX)
        innocent = wrongly_accused(run, but=(LOST, None))
        told = _cut_told(run)
        while_it_lasts = for_s < 2 * SOON_S or (told_s is not None and told_s <= SOON_S)
        also = f" AND ACCUSES {innocent}" if innocent else ""
        says = f"exit code {code}; {words_of([told]) if told else words_of(run.told())}{also}"
        return Told(says, code == 0 and while_it_lasts and not innocent, told_s)


def _given_up(run: Run, cut_s: float) -> Told:
    code = run.wait(2 * START_DEADLINE_S)
    after_s = time.time() - cut_s
    run.stop()
    root = run.report()["findings"][:1]
    innocent = wrongly_accused(run, but=(LOST, None))
    right = bool(root) and root[0]["culprit"] == LOST and code == 124 and not innocent
    also = f" AND ACCUSES {innocent}" if innocent else ""
    return Told(f"exit code {code}; {words_of(root)}{also}", right, after_s)


def _is_creating(run: Run) -> bool:
    path = run.run_dir / "logs" / "worker-1.1.out"
    return path.exists() and "creating the session" in path.read_text()


def _cut_told(run: Run) -> Mapping[str, Any] | None:
    """Whoever is said to be out of reach, it is on that host."""
    return matching(run.told(), culprit=LOST, words=())


@contextlib.contextmanager
def _hosts(folder: Path, command: Sequence[str]) -> Iterator[tuple[Network, Path]]:
    """Every task on a host of its own, and a job file that says so."""
    with Network(*HOSTS.values()) as net:
        at = {task: f"{net.address(host)}:{PORT}" for task, host in HOSTS.items()}
        spaces = {task: net.namespace(host) for task, host in HOSTS.items()}
        moved = [sys.executable, "-c", MOVE, json.dumps(spaces), *command]
        job = folder / "job.toml"
        job.write_text(
            f"command = {json.dumps(moved)}\nps = 1\nworkers = 2\n"
            f"start_deadline_s = {START_DEADLINE_S}\n[addresses]\n"
            f"ps = {json.dumps([at['ps:0']])}\n"
            f"worker = {json.dumps([at['worker:0'], at[LOST]])}\n"
        )
        yield net, job


def too_small(folder: Path) -> Told:
    """The parameter server may use less memory than the variables need."""
    with (
        limited(folder, task="ps:0", limit_bytes=SERVER_BYTES) as enter,
        Run(folder, THREE, [enter, *program("session_big")]) as run,
    ):
        code = run.wait(OVER_S_MAX)
        root = run.report()["findings"][:1] if code is not None else []
        found = matching(root, culprit="ps:0", words=("memory",), severities=("error",))
        innocent = wrongly_accused(run, but=("ps:0",))
        also = f" AND ACCUSES {innocent}" if innocent else ""
        says = f"exit code {code}; {words_of(root)}{also}"
        return Told(says, right=bool(found and code and not innocent))


def cannot_come_up(
    folder: Path, *, command: Sequence[str], words: Sequence[str], waits_s: float
) -> Told:
    """A start that stands: inside which call, for whom, and that it cannot work."""
    limit = ("--start-deadline-s", str(START_DEADLINE_S))
    with Run(folder, (*THREE, *limit), command) as run:
        run.until(_has_begun, START_S_MAX)

        def found(one: Run) -> Mapping[str, Any] | None:
            worth = [finding for finding in one.told() if finding["severity"] != "info"]
            return next((f for f in worth if all(word in _text(f) for word in words)), None)

        after_s = run.until(lambda one: found(one) is not None, START_DEADLINE_S + waits_s)
        told = found(run)
        run.wait(START_DEADLINE_S)
        run.stop()
        verdict = run.report()["verdict"]
        soon = told is not None and after_s is not None and after_s <= waits_s
        return Told(f"{said(told, run)}; {verdict}", soon and verdict != "healthy", after_s)


def _text(finding: Mapping[str, Any]) -> str:
    return " ".join(
        (finding["says"], *finding["do"], *(one["text"] for one in finding["evidence"]))
    )


def graph_differs(folder: Path) -> Told:
    """Which variable, and who is the odd one out; nobody may guess before."""
    with Run(folder, TWO, program("graph_differs")) as run:
        code = run.wait(OVER_S_MAX)
        if code is None:
            run.stop()
        findings = run.report()["findings"]
        worth = [one for one in findings if one["severity"] in {"error", "warning"}][:1]
        shapes = (("16", "8"), ("64", "32"), ("(4, 16)", "(4, 8)"))
        found = [one for one in worth if any(all(s in _text(one) for s in pair) for pair in shapes)]
        both = found and all(
            task in _text(found[0]) + str(found[0]["echoes"])
            for task in HOSTS
            if task.startswith("worker")
        )
        return Told(f"exit code {code}; {words_of(findings)}", right=bool(both and code))


def data_differ(folder: Path) -> Told:
    with Run(folder, TWO, program("data_differ")) as run:
        return hanging(run, culprit=LOST, words=("ended",), victims=("worker:0",), from_step=20)


def _of_old(name: str) -> Callable[[], list[str]]:
    return lambda: [str(bin_of(OLD) / "python"), str(PROGRAMS / f"{name}.py")]


def _session_without_chief(folder: Path) -> Told:
    return cannot_come_up(
        folder,
        command=_of_old("session_no_chief")(),
        words=(line_of("session_training", "MonitoredTrainingSession"), "chief"),
        waits_s=45.0,
    )


def _session_typo(folder: Path) -> Told:
    command = program("session_typo")
    return typo(folder, options=THREE, command=command, whom="ps:0", begins=_is_creating)


def _old_session_typo(folder: Path) -> Told:
    command = _of_old("session_typo")()
    return typo(folder, options=THREE, command=command, whom="ps:0", begins=_is_creating)


def _no_old() -> str:
    return "" if (PROGRAMS.parents[2] / ".envs" / OLD / "bin/python").exists() else f"no {OLD} here"


ENTRY = "which entry differs in whose definition, and who really listens where"
SITUATIONS = (
    Situation("B1-files", ENTRY, typo_in_files),
    Situation(
        "B1-tf-config",
        ENTRY,
        partial(
            typo,
            options=TWO,
            command=program("start_with_typo", *program("plain")),
            whom="worker:0",
            begins=_has_begun,
        ),
    ),
    Situation("B1-code", ENTRY, _session_typo),
    Situation("B1-code-2.15", ENTRY, _old_session_typo, _no_old),
    Situation("B2-5-s", "survived", partial(loses_network, for_s=5.0), available),
    Situation(
        "B2-60-s", "survived, told while it lasts", partial(loses_network, for_s=60.0), available
    ),
    Situation(
        "B2-for-ever", "explained at the deadline", partial(loses_network, for_s=None), available
    ),
    Situation("B3-server", "the server that is too small, by name", too_small, no_cgroups),
    Situation(
        "B4-mirrored",
        "the start stands, inside which call, for whom; this topology cannot work",
        partial(
            cannot_come_up,
            command=program("mirrored_with_ps"),
            words=("MultiWorkerMirroredStrategy", "ps"),
            waits_s=45.0,
        ),
    ),
    Situation(
        "B4-no-chief",
        "the start stands, inside which call, for a chief that nobody is",
        _session_without_chief,
        _no_old,
    ),
    Situation("B5-graph", "the difference, by its variable or its shapes", graph_differs),
    Situation("B5-data", "who was through with its data first", data_differ),
)
