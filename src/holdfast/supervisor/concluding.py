"""The last words on a job: its report, its page, and the journal's last fact."""

import contextlib
import sys
from typing import Any

from holdfast.coordinator.loop import Loop, Verdict, complain
from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import RunDir, log_name
from holdfast.model.errors import StorageFailed
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptEnded
from holdfast.model.findings import Finding
from holdfast.recover.decision import Decision, Ending, Stop
from holdfast.recover.policy import OnFailure
from holdfast.supervisor.held import Held
from holdfast.views.recovery_story import with_recovery
from holdfast.views.report import finding_line, report
from holdfast.views.stop_story import with_stop


def write_finding(run_dir: RunDir, finding: Finding, evidence: Evidence) -> None:
    line = finding_line(finding, evidence, log_name=log_name)
    with contextlib.suppress(StorageFailed):  # told again at the end, in the report
        run_dir.append_line("findings.jsonl", line)


def conclude_run(held: Held, loop: Loop, verdict: Verdict, decision: Decision | None) -> None:
    """The report first, the journal's last fact after it: who sees that sees all."""
    ended = _ended(held, verdict, decision)
    try:
        shown = report(verdict.diagnosis, verdict.evidence, log_name=log_name)
        shown = with_stop(shown, verdict.evidence)
        if held.plan.on_failure != OnFailure.STOP:
            shown = with_recovery(shown, read_journal(held.run_dir).facts)
        held.run_dir.write_json("report.json", shown)
        write_page(held.run_dir, shown)
        loop.take([ended])
    except StorageFailed as error:
        complain(error.message)
        loop.unsaved.append(ended)
    if loop.unsaved:
        sys.exit(StorageFailed.exit_code)


def _ended(held: Held, verdict: Verdict, decision: Decision | None) -> AttemptEnded:
    """How the job ended: as its last attempt did, unless a decision says more."""
    conclusion = verdict.conclusion
    code, why = conclusion.exit_code, conclusion.why
    given_up = held.plan.on_failure != OnFailure.STOP and not held.plan.dry_run
    if given_up and decision is not None and isinstance(decision.action, Stop):
        why = decision.reason
        if decision.action.ending is not Ending.UNABLE:
            code = decision.action.exit_code
    return AttemptEnded(exit_code=code, why=why, attempt=held.plan.attempt, **held.where())


def write_page(run_dir: RunDir, shown: dict[str, Any]) -> None:
    """The report once more, for a browser: nothing that goes wrong here may hurt the run."""
    try:
        from holdfast.views.html import report_html  # noqa: PLC0415 - only at the end of a run

        run_dir.write_bytes("report.html", report_html(shown).encode())
    except Exception as error:  # noqa: BLE001 - report.json holds all that it would show
        complain(f"report.html could not be written: {error!r}")
