"""What a task throws for want of a peer is not its own, in the words of every framework."""

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine, TaskExited, TracebackSeen
from holdfast.model.lost_peer import BETWEEN_TASKS, is_aftermath, raised_over
from holdfast.model.told_facts import ExceptionLeft

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
LIBRARY = "/home/user/venv/lib/python3.11/site-packages/torch/autograd/graph.py:979 run: x"
OWN = "/home/user/train.py:9 fetch: sock.recv(1)"


def thrown(message: str, *frames: str, exception: str = "RuntimeError") -> TracebackSeen:
    return TracebackSeen(
        at_s=10.0, host="host-a", task=W0, exception=exception, message=message, frames=frames
    )


@pytest.mark.parametrize(
    "words",
    [
        "[/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [::1]:50876.",
        "[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation",
        "UNKNOWN: Gloo AllGather failed: [external/gloo/pair.cc:547] something new",
        "NCCL error: remote process exited or there was a network error, NCCL version 2.21.5",
        "ncclRemoteError: A call failed possibly due to a network error",
        "Connection was likely closed. Did the remote server shutdown or crash?",
        "MPI_ERR_PROC_FAILED: Process Failure",
        "Horovod has been shut down. This was caused by an exception on one of the ranks",
        "Terminating process because the JAX distributed service detected fatal errors.",
        "Shutdown barrier in coordination service has failed:",
    ],
)
def test_what_only_the_transport_says_is_known_without_a_peer_that_was_seen_to_go(
    words: str,
) -> None:
    assert BETWEEN_TASKS.search(words)
    assert is_aftermath(Evidence(()), thrown(words, OWN, LIBRARY))


@pytest.mark.parametrize(
    "words",
    ["[Errno 104] Connection reset by peer", "[Errno 32] Broken pipe", "Connection refused"],
)
def test_what_any_server_may_say_is_a_loss_only_in_a_framework_and_after_one(words: str) -> None:
    gone = TaskExited(at_s=9.0, host="host-a", task=W1, exit_code=1)
    assert not is_aftermath(Evidence(()), thrown(words, OWN, LIBRARY))
    assert not is_aftermath(Evidence((gone,)), thrown(words, OWN))
    assert is_aftermath(Evidence((gone,)), thrown(words, OWN, LIBRARY))


def test_a_program_that_prints_such_words_itself_is_not_believed() -> None:
    words = "[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:50876"
    assert not is_aftermath(Evidence(()), thrown(words, OWN))
    assert not is_aftermath(Evidence(()), thrown(words))


def test_the_chain_of_what_a_program_wrote_down_is_told_from_its_root() -> None:
    left = ExceptionLeft(
        at_s=10.0,
        host="host-a",
        task=W0,
        exception="ConfigError",
        message="no good",
        came_from=("KeyError: 'row'", "StopIteration"),
        came_from_at=("/home/user/train.py:4 load",),
    )
    chain = raised_over(Evidence((left,)), left)
    assert [(one.exception, one.message, one.frames) for one in chain] == [
        ("StopIteration", "", ()),
        ("KeyError", "'row'", ("/home/user/train.py:4 load",)),
        ("ConfigError", "no good", ()),
    ]


def test_the_chain_of_a_log_is_told_from_its_root_and_alone_it_is_its_own() -> None:
    first = thrown("one", OWN)
    second = TracebackSeen(
        at_s=10.0, host="", task=W0, exception="B", message="", offset=90, follows="cause"
    )
    assert raised_over(Evidence((second, first)), second) == [first, second]
    assert raised_over(Evidence(()), second) == [second]


def test_a_program_that_wraps_the_loss_of_a_peer_has_still_only_lost_it() -> None:
    left = ExceptionLeft(
        at_s=10.0,
        host="host-a",
        task=W0,
        exception="TrainingFailed",
        message="giving up",
        frames=("/home/user/train.py:9 main: raise TrainingFailed() from error",),
        came_from=("UnavailableError: Socket closed",),
    )
    ended = TaskExited(at_s=11.0, host="host-a", task=W0, exit_code=1)
    names = [finding.name for finding in diagnose(Evidence((left, ended))).findings]
    assert "user-exception" not in names


def test_a_traceback_that_another_task_sent_is_not_ones_own() -> None:
    sent = "Collective ops is aborted by: KeyError: 17"
    outer = thrown(sent, OWN, LIBRARY, exception="UnknownError")
    inner = TracebackSeen(
        at_s=10.0, host="", task=W0, exception="KeyError", message="17", frames=(OWN,), offset=9
    )
    assert is_aftermath(Evidence((outer, inner)), inner)
    own = thrown("{{node PyFunc}} KeyError: 17", OWN, LIBRARY, exception="UnknownError")
    assert not is_aftermath(Evidence((own, inner)), inner)
    assert not is_aftermath(Evidence((inner,)), inner)


def test_a_process_that_jax_ends_over_another_one_has_not_crashed() -> None:
    said = LogLine(
        at_s=10.0,
        host="host-a",
        task=W0,
        text="F1118 07:02:59.951310 30088 client.h:80] Terminating process because the JAX"
        " distributed service detected fatal errors.",
    )
    ended = TaskExited(at_s=11.0, host="host-a", task=W0, signal=6)
    assert [one.name for one in diagnose(Evidence((said, ended))).findings] == ["peer-gone"]
