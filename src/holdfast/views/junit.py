"""Categories or findings as the test cases of a JUnit report, which every CI can show."""

import importlib
from collections.abc import Sequence
from typing import Any, Final

from holdfast.model.errors import MissingInput
from holdfast.views.categories import ERROR, OK, UNKNOWN, WARNING, Category
from holdfast.views.report import fit

CHECK: Final = "holdfast check"
DIAGNOSIS: Final = "holdfast diagnose"
_STATES: Final = {"error": ERROR, "warning": WARNING, "notice": OK}


def report_junit(report: dict[str, Any]) -> str:
    """A case for each finding; where there is none, one that has passed or was skipped."""
    rows = [
        Category(
            name=f"{found['cause']} {found['culprit'] or ''}".rstrip(),
            state=_STATES.get(found["severity"], OK),
            says=found["says"],
            findings=(number,),
        )
        for number, found in enumerate(report["findings"])
    ]
    state = UNKNOWN if report["verdict"] == "cannot-tell" else OK
    calm = [Category(name="diagnosis", state=state, says=report["verdict"])]
    return junit_text(report, rows or calm, warnings_fail=False, suite=DIAGNOSIS)


def junit_text(
    report: dict[str, Any],
    rows: Sequence[Category],
    *,
    warnings_fail: bool,
    suite: str = CHECK,
) -> str:
    """A category with an error has failed; one that was not looked at was skipped."""
    try:
        # Late: most never ask for this format. It has no types of its own.
        junitparser: Any = importlib.import_module("junitparser")
    except ImportError as error:
        raise MissingInput(
            "--format junit needs the package junitparser", do="pip install 'holdfast[ci]'"
        ) from error
    cases = junitparser.TestSuite(suite)
    for row in rows:
        case = junitparser.TestCase(row.name, classname=suite.replace(" ", "."))
        found = [report["findings"][number] for number in row.findings]
        bad = {"error", "warning"} if warnings_fail else {"error"}
        case.result = [
            junitparser.Failure(f"{shown['cause']}: {shown['says']}", shown["cause"])
            for shown in found
            if shown["severity"] in bad
        ]
        for failure, shown in zip(
            case.result, (shown for shown in found if shown["severity"] in bad), strict=True
        ):
            failure.text = "\n".join(shown["do"])
        if row.state == UNKNOWN and not case.result:
            case.result = [junitparser.Skipped(fit(row.says))]
        rest = [shown for shown in found if shown["severity"] not in bad]
        lines = [f"{shown['severity']}[{shown['cause']}]: {shown['says']}" for shown in rest]
        case.system_out = "\n".join([fit(row.says), *lines])
        cases.add_testcase(case)
    cases.update_statistics()
    document = junitparser.JUnitXml(suite)
    document.add_testsuite(cases)
    document.update_statistics()
    return str(document.tostring().decode())
