"""What a cluster is asked from outside, and how patiently."""

import socket
import threading
from collections.abc import Iterator

import pytest

from holdfast.agent import inquiry
from holdfast.agent.inquiry import ANSWER_S, Inquiry
from holdfast.model.cluster import TaskId
from holdfast.model.facts import PathProbed
from holdfast.model.path import Outcome
from holdfast.probes.paths import Place

WORKER = TaskId("worker", 1)
MORE_S = 0.7  # than the first look waits: one that is not asked more patiently is never heard


@pytest.fixture
def silent() -> Iterator[str]:
    """Takes every connection and says nothing; from the second one on it ends them in a while."""
    listening = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                held.append(listening.accept()[0])
            except OSError:
                return
            if len(held) > 1:
                threading.Timer(ANSWER_S + MORE_S, held[-1].close).start()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()
    for connection in held:
        connection.close()


@pytest.mark.parametrize("is_here", [True, False])
def test_who_is_on_another_host_gets_more_time_in_the_second_look(
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    is_here: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(inquiry, "is_here", lambda ip: is_here)
    facts = Inquiry([Place(silent, WORKER)], host="host-a").look()
    looks = [fact for fact in facts if isinstance(fact, PathProbed)]
    assert looks[0].outcome == Outcome.STALLED
    second = looks[1].outcome
    assert (second == Outcome.STALLED) == is_here, looks
