"""Healthy training ends with exit code 0, no finding, and nothing left behind."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.cluster
Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("roles", "workload"),
    [
        ("--chief --ps 1 --workers 2", "parameter_server"),
        ("--workers 2", "mirrored"),
        ("--ps 1 --workers 2", "session"),
    ],
    ids=["parameter server strategy", "multi-worker mirrored strategy", "monitored session"],
)
def test_healthy_training(run: Run, roles: str, workload: str) -> None:
    ran = run(roles, workload, "--steps", "60")
    assert ran.exit_code == 0, ran.text[-2000:]
    assert ran.report["verdict"] == "healthy"
    assert ran.report["findings"] == []
    assert ran.report["unknown"] == []
    assert "done" in ran.text
