"""Runs CPython's own cases for `subprocess` with ours in its place; a line of JSON for each."""

import importlib
import json
import subprocess
import sys
import unittest

import holdfast

# Of another operating system, and of a selector that ours does not use.
LEFT_OUT_CLASSES = frozenset({"Win32ProcessTestCase", "ProcessTestCaseNoPoll", "BaseTestCase"})


class Told(unittest.TestResult):
    """Tells how each case went, as soon as it has."""

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's own name
        wrong = [*self.failures, *self.errors]
        outcome = "failed" if wrong else "skipped" if self.skipped else "passed"
        why = [text for _, text in (*wrong, *self.skipped)]
        told = {"name": name_of(test), "outcome": outcome, "why": "".join(why)[-400:]}
        print(json.dumps(told), file=sys.__stdout__, flush=True)
        super().stopTest(test)


def name_of(test: unittest.TestCase) -> str:
    return f"{type(test).__name__}.{test.id().rpartition('.')[2]}"


def main(left_out: frozenset[str]) -> None:
    subprocess.Popen = holdfast.RunningProcess  # type: ignore[misc, assignment]
    subprocess.run = holdfast.run_process  # type: ignore[assignment]
    cases = importlib.import_module("test.test_subprocess")  # now, so that it sees ours
    for name, kind in vars(cases).items():
        is_case = isinstance(kind, type) and issubclass(kind, unittest.TestCase)
        if not is_case or name in LEFT_OUT_CLASSES:
            continue
        for method in unittest.defaultTestLoader.getTestCaseNames(kind):
            case = kind(method)
            if name_of(case) not in left_out:
                case.run(Told())


if __name__ == "__main__":
    main(frozenset(sys.argv[1:]))
