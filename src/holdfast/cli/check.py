"""`holdfast check`: find what would keep a cluster from starting, before anybody starts it."""

import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from holdfast.agent.survey import Survey, Wishes
from holdfast.cli import INTERRUPTED_CODE, wants_colour, width_of
from holdfast.diagnose import diagnose
from holdfast.intake.record import refuse_to_overwrite, write_record
from holdfast.intake.target import VARIABLE, Target, read_target
from holdfast.logdir.run_dir import log_name
from holdfast.model.address import Address, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.errors import HoldfastError, UsageError
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, SpecRead
from holdfast.model.findings import Diagnosis, Severity
from holdfast.model.spec import claimed, members
from holdfast.views.categories import Category, categories
from holdfast.views.check_text import check_text, summary_text
from holdfast.views.github import github_text
from holdfast.views.junit import junit_text
from holdfast.views.places import places_in_definitions
from holdfast.views.report import report
from holdfast.views.sanitise import plain
from holdfast.views.sarif import sarif

PREFLIGHT_CODE = 3  # the check found something that must not stay
BROKEN_CODE = 70  # a rule of ours crashed, and nothing else was found
PROGRESS_AFTER_S = 1.0
OF_DEFINITION = ("Definition", "Roles", "Addresses", "Agreement")
OF_HOST = ("Host", "Ports", "Memory", "Disk", "Limits", "Clock", "Proxy", "Versions", "Paths")
FORMATS = ("text", "json", "sarif", "junit", "github")


def _options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option("-v", "--verbose", is_flag=True, help="Show the facts behind each line."),
            click.option(
                "--format",
                "shape",
                type=click.Choice(FORMATS),
                default="text",
                show_default=True,
                help="For people, for programs, or for CI.",
            ),
            click.option("--offline", is_flag=True, help="Only read: no network, no probes."),
            click.option(
                "--task", metavar="ROLE:INDEX", help="Which task this host is.  [default: found]"
            ),
            click.option("--log-dir", metavar="DIR", multiple=True, help="Where logs will go."),
            click.option(
                "--checkpoint-dir", metavar="DIR", multiple=True, help="Where checkpoints will go."
            ),
            click.option(
                "--python", metavar="PATH", help="The tasks' interpreter.  [default: python3]"
            ),
            click.option("--latency", is_flag=True, help="Measure the paths to all tasks, too."),
            click.option("--record", metavar="FILE", help="Keep all facts, to judge with others'."),
            click.option(
                "--fail-on",
                type=click.Choice(["error", "warning"]),
                default="error",
                show_default=True,
                help="What makes the exit code 3.",
            ),
        )
    ):
        function = option(function)
    return function


@click.command(short_help="Find what would keep a cluster from starting.")
@_options
@click.argument("spec", nargs=-1)
def command(spec: tuple[str, ...], **asked: Any) -> None:
    """Look at a cluster's definition, this host and its paths, and say what would go wrong.

    \b
    SPEC is any of
      job.toml                      a job file, as for `holdfast run`
      worker-0.json worker-1.json   files that hold a TF_CONFIG each, or a directory of them
      '{"cluster": …}' or -         a TF_CONFIG itself, or on standard input
      h1:2222,h2:2222               workers by their addresses
      worker=h1:2222 ps=h2:2222     the same with roles
      a.facts b.facts               what --record kept on other hosts: judged together
    Without SPEC, the TF_CONFIG of this environment.

    Nothing is started, changed or left behind.

    \b
    Exit codes: 0 nothing, or only warnings; 3 errors; 2 wrong usage; 65, 66, 78 a file is
    wrong, missing, or not a job; 130 Ctrl-C.
    """
    try:
        sys.exit(_check(spec, asked))
    except HoldfastError as error:
        # Names of files are strangers' words: none may reach the terminal as it is.
        raise type(error)(plain(error.message), do=plain(error.do)) from error


def _check(spec: Sequence[str], asked: dict[str, Any]) -> int:
    refuse_to_overwrite(asked["record"])
    began_s = time.monotonic()
    host = socket.gethostname()
    target = read_target(spec, os.environ, host=host)
    wishes = _wishes(target, asked, host)
    facts = [*target.recorded, *target.specs]
    notes = [*target.notes]
    if not (asked["offline"] or target.recorded):
        survey = Survey(target, wishes, tick=_progress)
        facts += _surveyed(survey)
        notes += survey.notes
    evidence = Evidence(facts)
    diagnosis = diagnose(evidence)
    rows = categories(
        evidence, diagnosis, skipped=_skipped(target, asked), settled=_settled(target)
    )
    if asked["record"] is not None:
        write_record(asked["record"], facts)
    about = f"{_about(target, evidence)}, in {time.monotonic() - began_s:.1f} s"
    shown = _shown(target, evidence, diagnosis, rows, asked=asked, notes=notes, about=about)
    click.echo(shown, nl=False, color=wants_colour(sys.stdout))
    return _exit_code(diagnosis, asked["fail_on"])


def _wishes(target: Target, asked: dict[str, Any], host: str) -> Wishes:
    return Wishes(
        host=host,
        task=_named_task(target, asked["task"]),
        python=asked["python"] or "",
        log_dirs=asked["log_dir"],
        checkpoint_dirs=asked["checkpoint_dir"],
        latency=asked["latency"],
    )


def _surveyed(survey: Survey) -> list[Fact]:
    try:
        return survey.look()
    except KeyboardInterrupt:
        _progress_over()
        # A thread may still wait for an answer: leaving in order would wait for it.
        os._exit(INTERRUPTED_CODE)
    finally:
        _progress_over()


def _progress(age_s: float, paths_seen: int) -> None:
    """Only when it takes long, and a person looks."""
    if age_s > PROGRESS_AFTER_S and sys.stderr.isatty():
        seen = f", {paths_seen} addresses so far" if paths_seen else ""
        sys.stderr.write(f"\r\x1b[Klooking … {age_s:.0f} s{seen}")
        sys.stderr.flush()


def _progress_over() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _named_task(target: Target, name: str | None) -> TaskId | None:
    """Whom this host is by the user's word, or by that of the environment it runs in."""
    specs = [spec for spec in target.specs if isinstance(spec, SpecRead)]
    if name is not None:
        task = TaskId.parse(name)
        known = {member for spec in specs for member in (*members(spec), claimed(spec))}
        if specs and task not in known:
            raise UsageError(
                f"--task: the definition has no {task}", do="name one of its tasks, as role:index"
            )
        return task
    # A file may be for another host; what is in our own environment is for us.
    if len(specs) == 1 and specs[0].source == VARIABLE:
        return claimed(specs[0])
    return None


def _skipped(target: Target, asked: dict[str, Any]) -> dict[str, str]:
    if target.recorded:
        return dict.fromkeys((*OF_DEFINITION, *OF_HOST), "nothing was recorded about it")
    if asked["offline"]:
        return dict.fromkeys(OF_HOST, "not looked at (--offline)")
    return {}


def _settled(target: Target) -> dict[str, str]:
    if target.job is None or target.job.addresses:
        return {}
    tasks = len(target.job.tasks)
    own = f"{tasks} task{'s' if tasks > 1 else ''} on this host, each with a TF_CONFIG of its own"
    return {
        "Definition": own,
        "Roles": "as the job file counts them",
        "Addresses": "`holdfast run` takes ports that nobody uses",
        "Agreement": "all from one job file",
        "Ports": "chosen at the start",
        "Paths": "all tasks are on this host",
    }


def _about(target: Target, evidence: Evidence) -> str:
    if target.job is not None and not target.specs:
        return f"{len(target.job.tasks)} tasks on this host"
    specs = list(evidence.of(SpecRead))
    tasks = {task for spec in specs for task in members(spec)}
    texts = {text for spec in specs for text in members(spec).values()}
    parsed = map(parse_address, texts)
    hosts = {address.host.lower() for address in parsed if isinstance(address, Address)}
    return (
        f"{len(tasks):,} task{'' if len(tasks) == 1 else 's'}"
        f" on {len(hosts):,} host{'' if len(hosts) == 1 else 's'}"
    )


def _exit_code(diagnosis: Diagnosis, fail_on: str) -> int:
    severities = {finding.severity for finding in diagnosis.findings}
    if Severity.ERROR in severities or (fail_on == "warning" and Severity.WARNING in severities):
        return PREFLIGHT_CODE
    return BROKEN_CODE if diagnosis.broken else 0


def _shown(
    target: Target,
    evidence: Evidence,
    diagnosis: Diagnosis,
    rows: Sequence[Category],
    *,
    asked: dict[str, Any],
    notes: Sequence[str],
    about: str,
) -> str:
    shown = report(diagnosis, evidence, log_name=log_name)
    shape = asked["shape"]
    if shape == "text":
        return check_text(
            shown,
            rows,
            summary=summary_text(shown, rows, about=about),
            notes=notes,
            verbose=asked["verbose"],
            width=width_of(sys.stdout),
            colour=wants_colour(sys.stdout),
        )
    shown["unknown"] = [*shown["unknown"], *map(plain, notes)]
    if shape == "junit":
        return junit_text(shown, rows, warnings_fail=asked["fail_on"] == "warning")
    if shape == "github":
        return github_text(shown, places_in_definitions(diagnosis, target.files))
    if shape == "sarif":
        return _json(sarif(shown, places_in_definitions(diagnosis, target.files)))
    shown["check"] = [
        {"category": row.name, "state": row.state, "says": plain(row.says)} for row in rows
    ]
    return _json(shown)


def _json(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"
