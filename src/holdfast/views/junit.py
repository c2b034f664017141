"""Categories as the test cases of a JUnit report, which every CI can show."""

import importlib
from collections.abc import Sequence
from typing import Any, Final

from holdfast.model.errors import MissingInput
from holdfast.views.categories import UNKNOWN, Category
from holdfast.views.report import fit

SUITE: Final = "holdfast check"


def junit_text(report: dict[str, Any], rows: Sequence[Category], *, warnings_fail: bool) -> str:
    """A category with an error has failed; one that was not looked at was skipped."""
    try:
        # Late: most never ask for this format. It has no types of its own.
        junitparser: Any = importlib.import_module("junitparser")
    except ImportError as error:
        raise MissingInput(
            "--format junit needs the package junitparser", do="pip install 'holdfast[ci]'"
        ) from error
    suite = junitparser.TestSuite(SUITE)
    for row in rows:
        case = junitparser.TestCase(row.name, classname="holdfast.check")
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
        suite.add_testcase(case)
    suite.update_statistics()
    document = junitparser.JUnitXml(SUITE)
    document.add_testsuite(suite)
    document.update_statistics()
    return str(document.tostring().decode())
