"""`holdfast attach`: who answers, who is missing, and what is said about it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
Attach = Any
Cluster = Any
LoneWorker = Any


def test_a_whole_cluster_that_nobody_trains_with_is_not_called_healthy(
    attach: Attach, cluster: Cluster
) -> None:
    seen = attach("--format", "json", cluster.tf_config())
    assert seen.exit_code == 1, seen.err
    assert seen.findings == []
    assert seen.report["verdict"] == "cannot-tell"
    trains = "whether it trains: its servers answer, and nothing here shows a step"
    assert seen.report["unknown"] == [trains]
    assert {one["task"]: one["state"] for one in seen.report["tasks"]} == {
        "ps:0": "ready",
        "worker:0": "ready",
        "worker:1": "ready",
    }
    assert all(one["incarnation"] and one["devices"] for one in seen.report["tasks"])
    assert seen.report["waits"] == []


def test_a_missing_task_is_named_and_who_waits_for_it(attach: Attach, cluster: Cluster) -> None:
    seen = attach("--format", "json", cluster.tf_config(workers=3))
    assert seen.exit_code == 1
    assert seen.findings == [("error", "never-started", "worker:2")]
    assert {wait["awaited"] for wait in seen.report["waits"]} == {"worker:2"}
    assert {wait["waiter"] for wait in seen.report["waits"]} == {"worker:0", "worker:1"}


def test_nobody_is_asked_for_its_peers_while_one_is_missing(
    attach: Attach, cluster: Cluster, tmp_path: Path
) -> None:
    """It would go on looking for the missing one, and say so in its log."""
    record = tmp_path / "a.facts"
    attach("--record", str(record), cluster.tf_config(workers=3))
    assert '"PeersListed"' not in record.read_text()
    whole = tmp_path / "b.facts"
    attach("--record", str(whole), cluster.tf_config())
    assert '"PeersListed"' in whole.read_text()
    assert record.stat().st_mode & 0o777 == 0o600


def test_a_person_sees_tasks_waits_and_the_fix(attach: Attach, cluster: Cluster) -> None:
    seen = attach(cluster.tf_config(workers=3), COLUMNS="100")
    assert "✓ worker:0  answers" in seen.out
    assert "✗ worker:2  refused" in seen.out
    assert "▶ worker:2 (refused)" in seen.out
    assert "error[never-started]" in seen.out
    assert "= fix" in seen.out
    assert max(map(len, seen.out.splitlines())) <= 100


def test_one_address_is_enough_to_know_who_is_there(attach: Attach, cluster: Cluster) -> None:
    seen = attach("--format", "json", cluster.addresses["worker"][1])
    assert seen.exit_code == 1, seen.err
    assert [(one["task"], one["state"]) for one in seen.report["tasks"]] == [("worker:1", "ready")]


def test_a_task_that_works_is_well(attach: Attach, lone_worker: LoneWorker) -> None:
    seen = attach("--format", "json", lone_worker("works"))
    assert seen.exit_code == 0, seen.out
    assert (seen.report["verdict"], seen.report["healthy"]) == ("healthy", ["worker:0"])


def test_a_task_that_stands_still_is_told_with_its_line(
    attach: Attach, lone_worker: LoneWorker
) -> None:
    seen = attach("--format", "json", lone_worker("sleeps"))
    assert seen.exit_code == 1, seen.out
    assert seen.findings == [("notice", "keeps-waiting", "worker:0")]
    says = seen.report["findings"][0]["says"]
    assert says.startswith("worker:0 stands still since at least ")
    assert "it sleeps at lone.py:" in says


def test_a_server_in_join_is_not_told_of(attach: Attach, lone_worker: LoneWorker) -> None:
    seen = attach("--format", "json", lone_worker("joins"))
    assert seen.findings == []
    assert seen.report["verdict"] == "cannot-tell"


def test_swapped_addresses_are_found(attach: Attach, cluster: Cluster) -> None:
    known = cluster.addresses
    swapped = {"ps": [known["worker"][0]], "worker": [known["ps"][0], known["worker"][1]]}
    spec = json.dumps({"cluster": swapped, "task": {"type": "worker", "index": 1}})
    seen = attach("--format", "json", spec)
    assert seen.findings[0][:2] == ("error", "wrong-task-answers")
    assert seen.findings[0][2] == "worker:1", "whose definition it is"


@pytest.fixture
def stopped(cluster: Cluster) -> Iterator[None]:
    cluster.process.send_signal(signal.SIGSTOP)
    yield
    cluster.process.send_signal(signal.SIGCONT)


def test_a_stopped_server_is_neither_alive_nor_refused(
    attach: Attach, cluster: Cluster, stopped: None
) -> None:
    seen = attach("--format", "json", cluster.tf_config())
    assert {one["state"] for one in seen.report["tasks"]} == {"stalled"}
    assert {cause for _, cause, _ in seen.findings} == {"stalled-at-start"}


def test_a_cluster_that_is_not_up_is_said_to_be_so(attach: Attach, cluster: Cluster) -> None:
    seen = attach(cluster.addresses["worker"][2])
    assert seen.exit_code == 69
    assert "has a task that listens" in seen.err
    assert "try: start the cluster" in seen.err


@pytest.mark.parametrize(
    ("words", "exit_code", "says"),
    [
        (["no-such-file.json"], 66, "cannot be read"),
        (["{'cluster': {}}"], 65, "TF_CONFIG"),
        ([], 65, "TF_CONFIG"),
        (["--every-s", "0.1", "a:1"], 2, "--every-s"),
        (["--format", "yaml", "a:1"], 2, "yaml"),
    ],
)
def test_bad_input_gets_a_clear_error(
    attach: Attach, words: list[str], exit_code: int, says: str
) -> None:
    seen = attach(*words)
    assert seen.exit_code == exit_code, seen.err
    assert says in seen.err
    assert "Traceback" not in seen.err


def test_a_record_never_overwrites(attach: Attach, cluster: Cluster, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    assert attach("--record", str(there), cluster.tf_config()).exit_code == 73
    assert there.read_text() == "mine"


# Where this suite runs in the background, Ctrl-C is ignored, and that is inherited.
HEARS_CTRL_C = ("env", "--default-signal=INT", sys.executable, "-m")


def test_watching_tells_what_changes(cluster: Cluster) -> None:
    """A task that stops answering, and answers again; then Ctrl-C."""
    watching = subprocess.Popen(
        [*HEARS_CTRL_C, "holdfast", "attach", "--watch", "--every-s", "1", cluster.tf_config()],
        stdout=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        assert "whether it trains" in until(watching, "cannot tell")
        cluster.process.send_signal(signal.SIGSTOP)
        assert "before: answers" in until(watching, "worker:1 does not answer")
        cluster.process.send_signal(signal.SIGCONT)
        until(watching, "worker:1 answers")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130
    finally:
        cluster.process.send_signal(signal.SIGCONT)
        watching.kill()
        watching.wait()
        assert watching.stdout is not None
        watching.stdout.close()


def until(watching: subprocess.Popen[bytes], words: str) -> str:
    assert watching.stdout is not None
    fd, heard = watching.stdout.fileno(), b""
    deadline_s = time.monotonic() + 40
    while time.monotonic() < deadline_s:
        if select.select([fd], [], [], 1)[0]:
            chunk = os.read(fd, 65_536)
            assert chunk, "it ended"
            heard += chunk
            for line in heard.decode(errors="replace").splitlines():
                if words in line:
                    return line
    raise AssertionError(f"never said: {words}, but {heard!r}")
