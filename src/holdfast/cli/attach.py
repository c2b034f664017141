"""`holdfast attach`: ask a running or blocked cluster who waits for whom."""

import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from holdfast.agent.inquiry import Inquiry
from holdfast.cli import wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.intake.record import refuse_to_overwrite, write_record
from holdfast.intake.target import Target, read_target, run_dir_of
from holdfast.logdir.run_dir import log_name
from holdfast.model.address import Complaint, parse_address
from holdfast.model.errors import BadInput, Unreachable, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Attached, Fact, PathProbed, SpecRead
from holdfast.model.findings import Severity, Verdict
from holdfast.model.path import Outcome
from holdfast.model.spec import members
from holdfast.model.standing import standings
from holdfast.probes.paths import Place
from holdfast.views.cluster_text import cluster_text, state_of, tasks_shown, waits_shown
from holdfast.views.report import report
from holdfast.views.sanitise import plain
from holdfast.views.text import report_text

NOT_WELL_CODE = 1  # also where it cannot be told
EVERY_S_MIN = 1.0
LOOKS_KEPT = 3  # of each task, while we watch: the one before tells what has changed
UP = frozenset({Outcome.ANSWERED, Outcome.STALLED, Outcome.NOT_GRPC, Outcome.NOT_TENSORFLOW})


@click.command(short_help="Ask a running or blocked cluster who waits for whom.")
@click.argument("target", nargs=-1)
@click.option("--watch", is_flag=True, help="Keep looking, and tell what changes; Ctrl-C ends it.")
@click.option(
    "--every-s",
    type=float,
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds between two looks of --watch.",
)
@click.option(
    "--peers/--no-peers",
    default=None,
    help="Ask each task whom it can see. While one is missing, those who are asked keep trying"
    " to reach it, and note so in their logs.  [default: only when all answer]",
)
@click.option("--latency", is_flag=True, help="Measure the paths to all tasks, too.")
@click.option("--record", metavar="FILE", help="Keep all that was seen, for a report of a bug.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
def command(target: tuple[str, ...], **asked: Any) -> None:
    """Ask a cluster who is there, who gets on, and who waits for whom.

    \b
    TARGET is any of
      tf_config.json or '{"cluster": …}'   the TF_CONFIG of one of its tasks, or of several
      job.toml                             a job file with [addresses]
      gpu-07:2222                          any one of its tasks, or several
      holdfast-runs/TIME-ID                a run directory: see below
    Without TARGET, the TF_CONFIG of this environment.

    The cluster may have been started by anybody. Nothing is installed in it, and its training
    is not disturbed. Its TensorFlow servers are asked who they are and whom they see. Tasks on
    this host are watched for 3 s, by /proc and, where it is installed, py-spy: who gets on, who
    waits, and at which line the one stands that is waited for.

    A run directory is a job of `holdfast run`: it is shown on as in its first terminal, and if
    its supervisor was killed, a new one takes it over. Nothing is started a second time. Ctrl-C
    ends that job; closing the terminal leaves it. The exit code is the job's.

    \b
    Exit codes: 0 a task that trains was seen to get on, and nothing is wrong; 1 something is
    wrong, somebody waits, or it cannot be told (nobody who trains is on this host); 69 nobody
    of it is up; 2 wrong usage; 65, 66, 78 a file is wrong, missing, or not a job.
    """
    if asked["every_s"] < EVERY_S_MIN:
        raise UsageError("--every-s is below 1", do="look once a second at most: --every-s 1")
    if folder := run_dir_of(target):
        sys.exit(_rejoin(folder, asked))
    refuse_to_overwrite(asked["record"])
    host = socket.gethostname()
    bare = _bare(target)
    read = Target() if bare else read_target(target, os.environ, host=host)
    specs = [spec for spec in read.specs if isinstance(spec, SpecRead)]
    places = bare or _places(specs)
    if not places:
        raise _nobody_named(read.specs)
    inquiry = Inquiry(places, host=host)
    facts: list[Fact] = [Attached(at_s=0.0, host=host), *specs]
    facts += inquiry.look(peers=asked["peers"], latency=asked["latency"])
    if bare:
        facts += _whole_cluster(inquiry, facts, peers=asked["peers"])
    facts += _watched(inquiry, facts)
    if asked["record"] is not None:
        write_record(asked["record"], facts)
    _refuse_if_nobody(facts, places)
    code = _show(facts, asked["shape"])
    if asked["watch"]:
        _watch(inquiry, facts, asked)
    sys.exit(code)


def _nobody_named(specs: Sequence[Fact]) -> BadInput:
    unreadable = next(iter(diagnose(Evidence(specs)).findings), None)
    return BadInput(
        plain(unreadable.proof.says) if unreadable else "the target names no task",
        do="name a TF_CONFIG, or host:port of any task; holdfast check tells more",
    )


def _rejoin(folder: str, asked: dict[str, Any]) -> int:
    from holdfast.cli.run import rejoin  # noqa: PLC0415 - only where a run is meant

    given = [name for name in ("watch", "peers", "latency", "record") if asked[name]]
    if given or asked["shape"] != "text":
        raise UsageError(
            "a run directory is shown as its own terminal shows it, without other options",
            do="leave them out, or name the TF_CONFIG or host:port of one of its tasks",
        )
    return rejoin(Path(folder))


def _bare(words: Sequence[str]) -> list[Place]:
    """host:port alone: whoever answers there is right. Anything else names tasks."""
    found = [part for word in words for part in word.split(",") if part]
    plainly = all("=" not in word and "{" not in word for word in words)
    if not plainly or any(isinstance(parse_address(part), Complaint) for part in found):
        return []
    return [Place(part, None) for part in found]


def _places(specs: Sequence[SpecRead]) -> list[Place]:
    """Each task where most definitions have it; an evaluator serves nobody."""
    seen: dict[str, dict[str, int]] = {}
    named = {}
    for spec in specs:
        for task, address in members(spec).items():
            if task.role != "evaluator":
                named[str(task)] = task
                counts = seen.setdefault(str(task), {})
                counts[address] = counts.get(address, 0) + 1
    return [
        Place(max(counts, key=lambda address: counts[address]), named[name])
        for name, counts in seen.items()
    ]


def _whole_cluster(inquiry: Inquiry, facts: Sequence[Fact], *, peers: bool | None) -> list[Fact]:
    """From one task on this host to all of them: its own definition says where they are."""
    specs = [fact for fact in facts if isinstance(fact, SpecRead)]
    known = {fact.target for fact in facts if isinstance(fact, PathProbed)}
    rest = [place for place in _places(specs) if place.target not in known]
    if not rest:
        return []
    return Inquiry(rest, host=socket.gethostname()).look(peers=peers)


def _watched(inquiry: Inquiry, facts: Sequence[Fact]) -> list[Fact]:
    """Who stands still, unless it is known already what keeps the others waiting."""
    known = diagnose(Evidence(facts)).verdict is Verdict.SICK
    return [] if known else inquiry.watch(facts)


def _refuse_if_nobody(facts: Sequence[Fact], places: Sequence[Place]) -> None:
    looks = [fact for fact in facts if isinstance(fact, PathProbed)]
    if not any(look.outcome in UP for look in looks):
        first = looks[0] if looks else None
        said = f": {plain(first.address)} {first.outcome}" if first else ""
        raise Unreachable(
            f"none of {len(places)} addresses has a task that listens{said}",
            do="start the cluster first, or check the addresses: holdfast check",
        )


def _show(facts: Sequence[Fact], shape: str) -> int:
    evidence = Evidence(facts)
    diagnosis = diagnose(evidence)
    shown = report(diagnosis, evidence, log_name=log_name)
    if shape == "json":
        shown = {**shown, "tasks": tasks_shown(evidence), "waits": waits_shown(evidence)}
        click.echo(msgspec.json.format(msgspec.json.encode(shown)).decode())
    else:
        width, colour = width_of(sys.stdout), wants_colour(sys.stdout)
        click.echo(cluster_text(evidence, width=width, colour=colour), color=colour)
        click.echo(report_text(shown, width=width, colour=colour), color=colour, nl=False)
    return 0 if diagnosis.verdict is Verdict.HEALTHY else NOT_WELL_CODE


def _watch(inquiry: Inquiry, facts: Sequence[Fact], asked: dict[str, Any]) -> NoReturn:
    """Only who they are is asked again, and only what changes is told."""
    specs = [fact for fact in facts if isinstance(fact, SpecRead) and not fact.pid]
    looks = [fact for fact in facts if isinstance(fact, PathProbed)]
    states, told = _states(facts), _findings(facts)
    while True:
        time.sleep(asked["every_s"])
        fresh = inquiry.look_again()
        looks = _newest([*looks, *(fact for fact in fresh if isinstance(fact, PathProbed))])
        rest = [fact for fact in fresh if not isinstance(fact, PathProbed)]
        kept = [facts[0], *specs, *looks, *rest, *inquiry.watch_on([*looks, *rest])]
        now, found = _states(kept), _findings(kept)
        for task in now:
            if now[task] != states.get(task):
                _say(f"{task} {now[task]} (before: {states.get(task, 'unknown')})", asked["shape"])
        for key, (severity, says) in found.items():
            if key not in told or told[key][0] != severity:
                _say(says, asked["shape"])
        for key in told.keys() - found.keys():
            _say(f"over: {told[key][1]}", asked["shape"])
        states, told = now, found


def _states(facts: Sequence[Fact]) -> dict[str, str]:
    return {str(task): state_of(at) for task, at in standings(Evidence(facts)).items()}


def _findings(facts: Sequence[Fact]) -> dict[tuple[str, str], tuple[Severity, str]]:
    """Each by its cause and its culprit: how grave it is, and its sentence."""
    return {
        (finding.name, str(finding.proof.culprit)): (
            finding.severity,
            f"{finding.severity}[{finding.name}]: {plain(finding.proof.says)}",
        )
        for finding in diagnose(Evidence(facts)).findings
    }


def _newest(looks: Sequence[PathProbed]) -> list[PathProbed]:
    """The last looks at each address: what is kept does not grow."""
    kept: list[PathProbed] = []
    seen: Counter[str] = Counter()
    for look in reversed(looks):
        seen[look.address] += 1
        if seen[look.address] <= LOOKS_KEPT:
            kept.append(look)
    return kept[::-1]


def _say(words: str, shape: str) -> None:
    at = datetime.now(UTC)
    if shape == "json":
        click.echo(msgspec.json.encode({"at": at.isoformat(), "says": words}).decode())
    else:
        click.echo(f"{at.astimezone():%H:%M:%S} {words}")
    sys.stdout.flush()
