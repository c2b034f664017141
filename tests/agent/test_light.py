"""Processes that live as long as the job load nothing that only a rare moment needs."""

import subprocess
import sys

import pytest

HEAVY = (
    "concurrent.futures",
    "difflib",
    "h5py",
    "numpy",
    "psutil",
    "rich",
    "statistics",
    "zipfile",
)
LOADED = "import importlib, sys; importlib.import_module(sys.argv[1]); print(*sys.modules)"


@pytest.mark.parametrize(
    "module",
    [
        "holdfast.supervisor.holding_on",
        *(f"holdfast.agent.{name}" for name in ("hold", "scan", "watch")),
    ],
)
def test_it_stays_small(module: str) -> None:
    command = [sys.executable, "-P", "-c", LOADED, module]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert not set(HEAVY) & set(loaded.stdout.split())
