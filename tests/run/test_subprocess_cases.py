"""CPython's own cases for `subprocess` hold for `run_process` and `RunningProcess`, too."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(900)
RUNNER = Path(__file__).with_name("subprocess_cases.py")
WAIT_S = 840

NO_PIPE = "it needs the descriptor of a pipe: output goes to a file, and says so when it is asked"
A_MOCK = (
    "it counts the calls of a mock in place of stdin; broken pipes are tried for real beside it"
)
# What cannot hold, and why. Everything else must.
CANNOT_HOLD = {
    "ProcessTestCase.test_pipesizes": NO_PIPE,
    "ProcessTestCase.test_pipesize_default": NO_PIPE,
    "POSIXProcessTestCase.test_pipe_cloexec": NO_PIPE,
    "POSIXProcessTestCase.test_pipe_cloexec_real_tools": NO_PIPE,
    "POSIXProcessTestCase.test_preexec_errpipe_does_not_double_close_pipes": NO_PIPE,
    "POSIXProcessTestCase.test_select_unbuffered": NO_PIPE,
    "POSIXProcessTestCase.test_communicate_BrokenPipeError_stdin_close": A_MOCK,
    "POSIXProcessTestCase.test_communicate_BrokenPipeError_stdin_close_with_timeout": A_MOCK,
    "POSIXProcessTestCase.test_communicate_BrokenPipeError_stdin_flush": A_MOCK,
    "POSIXProcessTestCase.test_communicate_BrokenPipeError_stdin_write": A_MOCK,
    "ProcessTestCase.test_repr": "it starts no process, and wants the class to be called Popen",
    "ProcessTestCase.test_empty_env": "every environment has the variable by which a tree is found",
    "MiscTests.test_run_keyboardinterrupt_no_kill": "it counts what a Popen within subprocess does;"
    " what ours does at Ctrl-C is tried for real in test_own_process.py",
}


@pytest.mark.skipif(
    importlib.util.find_spec("test.test_subprocess") is None,
    reason="this Python was installed without its own tests (the package `test`)",
)
def test_every_case_of_cpython_that_applies_holds() -> None:
    done = subprocess.run(
        [sys.executable, str(RUNNER), *CANNOT_HOLD],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
    assert [case for case in told if case["outcome"] == "failed"] == []
    passed = {case["name"] for case in told if case["outcome"] == "passed"}
    for group in ("RunFuncTestCase", "ProcessTestCase", "POSIXProcessTestCase"):
        assert sum(name.startswith(f"{group}.") for name in passed) >= 15, group
