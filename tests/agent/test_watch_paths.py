"""How far away servers are, by real connections."""

import os
import socket
import subprocess
import sys

import pytest

from holdfast.agent.watch_paths import PathLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.probes.round_trip import RoundTrip

WORKER = TaskId("worker", 1)
TRAINS = {WORKER: Watched(task=WORKER, pid=1, address="", streams={}, trains=True)}


def trip_to(server: socket.socket) -> RoundTrip:
    ip, port = server.getsockname()
    return RoundTrip(ip, port, 0.0)


def over(trip: RoundTrip) -> RoundTrip:
    while not trip.is_over:
        trip.look(0.0)
    return trip


def test_the_kernel_times_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        trip = over(trip_to(server))
    assert trip.took_s is not None
    assert 0 < trip.took_s < 0.5


def test_a_port_that_refuses_has_no_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ip, port = server.getsockname()
    assert over(RoundTrip(ip, port, 0.0)).took_s is None


def test_an_answer_that_does_not_come_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        trips = [trip_to(server) for _ in range(8)]
        for trip in trips:
            trip.look(10.0)
        assert all(trip.is_over for trip in trips)
        assert any(trip.took_s is None for trip in trips)


@pytest.mark.parametrize("address", ["127.0.0.1:2222", "gpu-07:2222", "nonsense"])
def test_on_this_host_or_by_name_nobody_is_asked(address: str) -> None:
    look = PathLook("host-a", {WORKER: address})
    assert [list(look.look(TRAINS, float(at))) for at in range(20)] == [[]] * 20


@pytest.mark.skipif(os.geteuid() != 0, reason="an address of its own for a test needs root")
def test_a_near_server_is_not_worth_a_word() -> None:
    """In a network of its own, which ends with the process."""
    code = """
import socket, subprocess, time
from tests.agent.test_watch_paths import TRAINS, WORKER, PathLook
for line in ("link set lo up", "address add 10.99.0.1/32 dev lo"):
    subprocess.run(["ip", *line.split()], check=True)
with socket.create_server(("10.99.0.1", 0)) as server:
    look = PathLook("host-a", {WORKER: "10.99.0.1:%d" % server.getsockname()[1]})
    told = []
    for at in range(60):
        told += look.look(TRAINS, float(at))
        time.sleep(0.01)
    print(told, len(look._ways[WORKER].took))
"""
    command = ["unshare", "--net", sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout.strip() == "[] 8"
