"""Which versions of a package may be in one cluster, by the package's own rules."""

import pytest

from holdfast.in_task import version_rules as in_task
from holdfast.model.findings import Severity
from holdfast.model.version_rules import RULES, mismatch

PAIRS = [
    ("tensorflow", "2.21.0", "2.21.1", None),
    ("tensorflow", "2.21.0", "2.21.0rc1", None),
    ("tensorflow", "2.15.0+nv23.11", "2.15.0.post1", None),
    ("tensorflow", "2.15.1", "2.21.0", Severity.WARNING),
    ("tensorflow", "2.9.0", "2.10.0", Severity.WARNING),
    ("tensorflow", "1.15.5", "2.15.0", Severity.ERROR),
    ("tensorflow", "unknown", "2.21.0", None),
    ("tensorflow", "", "2.21.0", None),
    ("tensorflow", "2", "2.21.0", None),
    ("keras", "3.12.0", "3.15.1", None),
    ("keras", "2.15.0", "3.15.1", Severity.WARNING),
    ("python", "3.11.7", "3.11.9", None),
    ("python", "3.11", "3.11.9", None),
    ("python", "3.11.7", "3.12.1", Severity.INFO),
    ("python", "3.9.1", "3.10.1", Severity.INFO),
    ("python", "2.7.18", "3.7.17", Severity.WARNING),
    ("protobuf", "5.28.0", "5.29.3", None),
    ("protobuf", "5.29.3", "6.31.1", None),
    ("protobuf", "4.25.3", "6.31.1", Severity.INFO),
    ("protobuf", "3.20.3", "7.36.2", Severity.INFO),
    ("numpy", "2.3.1", "2.4.6", None),
    ("numpy", "1.26.4", "2.4.6", Severity.INFO),
    ("grpcio", "1.48.0", "1.85.1", None),
    ("grpcio", "1.85.1", "2.0.0", Severity.INFO),
    ("cuda", "12.2.140", "12.9.79", None),
    ("cuda", "11.8.89", "12.9.79", Severity.INFO),
    ("h5py", "2.10.0", "3.14.0", None),
]


@pytest.mark.parametrize(("name", "one", "other", "severity"), PAIRS)
def test_versions_are_compared_by_what_matters(
    name: str, one: str, other: str, severity: Severity | None
) -> None:
    assert mismatch(name, one, other) is severity
    assert mismatch(name, other, one) is severity


@pytest.mark.parametrize(("name", "one", "other", "severity"), PAIRS)
def test_tasks_that_compare_themselves_go_by_the_same_rules(
    name: str, one: str, other: str, severity: Severity | None
) -> None:
    told = severity is not None and name in in_task.RULES
    assert in_task.fit(name, one, other) is not told
    assert in_task.fit(name, other, one) is not told


def test_both_tables_have_the_same_numbers() -> None:
    for name, numbers in in_task.RULES.items():
        assert (RULES[name].parts, RULES[name].apart_min) == numbers
