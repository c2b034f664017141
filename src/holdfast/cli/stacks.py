"""`holdfast stacks`: what the Python threads of a run's tasks are doing right now."""

import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from holdfast.agent.activity_rounds import FIRST_OVER_S, ActivityRounds
from holdfast.agent.live_tasks import LiveTasks, live_tasks
from holdfast.agent.take_stacks import FOLDER, stacks_seen, take_round
from holdfast.cli import wants_colour, width_of
from holdfast.logdir.journal import read_journal
from holdfast.logdir.journal_lock import is_being_written
from holdfast.logdir.run_dir import RunDir, open_run_dir
from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError, MissingInput, Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted
from holdfast.model.watch_facts import StacksSeen, StateChanged
from holdfast.model.words import listed
from holdfast.probes.stacks import NoPySpy, Sources, native_stacks
from holdfast.views.sanitise import plain
from holdfast.views.stacks_text import stacks_shown, stacks_text

RUNS = "holdfast-runs"
APART_S = 2.5
HUNG = frozenset({"deadlocked", "livelocked", "stuck-on-storage"})  # by the watcher
RUNS_LOOKED_AT_MAX = 200


@click.command(short_help="Show what each task's Python threads are doing right now.")
@click.argument("run_dir", type=click.Path(path_type=Path), required=False)
@click.option("--task", "tasks", multiple=True, metavar="ROLE:INDEX", help="Only this one.")
@click.option("--merge/--no-merge", default=True, help="Tasks at the same place are shown once.")
@click.option("--twice/--once", default=True, help="Look again 2.5 s later, and say who moved.")
@click.option(
    "--native",
    is_flag=True,
    help="C and C++ frames, too: only of tasks that are known to be hung, because it stops them.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(
    *,
    run_dir: Path | None,
    tasks: tuple[str, ...],
    merge: bool,
    twice: bool,
    native: bool,
    shape: str,
) -> None:
    """Show the Python stacks of the tasks of a run that lives, all of them at one moment.

    RUN_DIR is by default the run that goes on below holdfast-runs/ here. No task is stopped for
    it: py-spy (pip install 'holdfast[stacks]') reads their memory while they run. A task in
    which nothing moves while the others wait for it is the one to look at. What the kernel tells
    of each task's processes is shown, too: the child, file, lock or peer that one waits for.

    --native stops a task for seconds, and its peers may take it for dead. So it is done only to
    tasks that Holdfast has declared deadlocked, livelocked or stuck on storage.

    \b
    Exit codes: 0 somebody could be looked at; 69 nobody; 66 there is no such run, or no py-spy;
    2 wrong usage.
    """
    folder = open_run_dir(run_dir) if run_dir else _going_on(Path(RUNS))
    facts = read_journal(folder).facts
    host = socket.gethostname()
    live = _chosen(live_tasks(facts, folder.path, host=host), tasks)
    if not live.pids:
        why = listed(f"{task}: {why}" for task, why in live.missing.items())
        raise Unreachable(
            f"no task of {folder.path} lives here ({plain(why)})",
            do="holdfast diagnose shows how a run ended",
        )
    began_s = next((fact.began_unix_s for fact in Evidence(facts).of(AttemptStarted)), 0.0)
    looked = _looked(live, folder, host=host, began_s=began_s, twice=twice)
    below = _native(live, Evidence(facts)) if native else {}
    if shape == "json":
        shown = stacks_shown(looked.rounds, looked.unseen, looked.activity)
        shown |= {"native": below} if native else {}
        click.echo(msgspec.json.format(msgspec.json.encode(shown)).decode())
    else:
        _print(looked, below, merge=merge)
    if looked.no_py_spy:
        raise looked.no_py_spy
    if not looked.rounds:
        sys.exit(Unreachable.exit_code)


@dataclass(frozen=True, slots=True)
class _Looked:
    """Each round of looks, why some tasks were seen in none, and what the kernel says of all."""

    rounds: list[list[StacksSeen]]
    unseen: dict[TaskId, str]
    activity: dict[TaskId, ActivitySeen]
    no_py_spy: NoPySpy | None


def _print(looked: _Looked, below: dict[str, list[str]], *, merge: bool) -> None:
    colour = wants_colour(sys.stdout)
    text = stacks_text(
        looked.rounds,
        looked.unseen,
        looked.activity,
        merge=merge,
        width=width_of(sys.stdout),
        colour=colour,
    )
    click.echo(text, color=colour, nl=False)
    for name, lines in below.items():
        click.echo(f"\n{name}, with its native frames:")
        click.echo("\n".join(plain(line) for line in lines))


def _looked(live: LiveTasks, folder: RunDir, *, host: str, began_s: float, twice: bool) -> _Looked:
    sources = Sources()
    activity = ActivityRounds(live.pids, host)
    rounds: list[list[StacksSeen]] = []
    unseen = dict(live.missing)
    missing: NoPySpy | None = None
    for number in range(2 if twice else 1):
        time.sleep(APART_S if number else 0)
        at_s = round(time.time() - began_s, 3)
        activity.sample()
        try:
            taken = take_round(live.pids, sources, dumps=folder.path / FOLDER)
        except NoPySpy as error:
            missing = error
            unseen |= dict.fromkeys(live.pids, error.message)
            continue
        rounds.append(stacks_seen(taken, live.pids, at_s=at_s, host=host, why="holdfast stacks"))
        unseen |= {task: stacks.why for task, stacks in taken.items() if not stacks.threads}
    if not twice:
        time.sleep(FIRST_OVER_S)
        activity.sample()
    seen = {one.task for look in rounds for one in look}
    return _Looked(
        rounds=[look for look in rounds if look],
        unseen={task: why for task, why in unseen.items() if task not in seen},
        activity={one.task: one for one in activity.seen(at_s) if one.task},
        no_py_spy=missing,
    )


def _native(live: LiveTasks, evidence: Evidence) -> dict[str, list[str]]:
    """Of those that are known to be hung; of the others, why not."""
    state = {fact.task: fact.state for fact in evidence.of(StateChanged)}
    found: dict[str, list[str]] = {}
    for task, pid in live.pids.items():
        if state.get(task) not in HUNG:
            now = state.get(task) or "of unknown state"
            found[str(task)] = [f"not looked at: it is {now}, and looking would stop it"]
            continue
        try:
            found[str(task)] = list(native_stacks(pid))
        except OSError as error:
            found[str(task)] = [f"not seen: {error}"]
    return found


def _chosen(live: LiveTasks, names: tuple[str, ...]) -> LiveTasks:
    if not names:
        return live
    wanted = {TaskId.parse(name) for name in names}
    unknown = wanted - live.pids.keys() - live.missing.keys()
    if unknown:
        known = listed(sorted([*live.pids, *live.missing]))
        raise UsageError(f"there is no {listed(sorted(unknown))} in this run", do=f"it has {known}")
    return LiveTasks(
        {task: pid for task, pid in live.pids.items() if task in wanted},
        {task: why for task, why in live.missing.items() if task in wanted},
    )


def _going_on(runs: Path) -> RunDir:
    """The newest run here that somebody still writes; else the newest of all."""
    found = sorted(runs.iterdir(), reverse=True) if runs.is_dir() else []
    newest: RunDir | None = None
    for place in found[:RUNS_LOOKED_AT_MAX]:
        try:
            folder = open_run_dir(place)
        except HoldfastError:
            continue
        if is_being_written(folder):
            return folder
        newest = newest or folder
    if newest is None:
        raise MissingInput(f"there is no run below {runs}/ here", do="name its run directory")
    return newest
