"""The hosts, cuts and slow paths that the start-up tests stand on are real, and leave nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.network import OUTSIDE, Network, available, sweep

WHY_NOT = available()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
ROOT = Path(__file__).parent.parent.parent
PORT = 8000
WAIT_S = 2.0
SERVE = """
import socket
server = socket.create_server(("0.0.0.0", 8000), backlog=64)
print("ready", flush=True)
kept = []
while True:
    kept.append(server.accept())
"""
CONNECT = """
import json, socket, sys, time
began_s = time.monotonic()
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3])).close()
    said = "connected"
except OSError as error:
    said = type(error).__name__ if error.errno is None else str(error.strerror)
print(json.dumps([said, time.monotonic() - began_s]))
"""

COUNT = """
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("0.0.0.0", 9000))
print("ready", flush=True)
receiver.settimeout(20)
arrived = 0
try:
    while True:
        receiver.recv(100)
        arrived += 1
        receiver.settimeout(2)
except TimeoutError:
    print(arrived)
"""
SEND = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(300):
    sender.sendto(b"x", (sys.argv[1], 9000))
    time.sleep(0.002)  # no queue on the way may fill up
"""
HALF_OPEN = """
import pathlib, time
deadline_s = time.monotonic() + 3
while time.monotonic() < deadline_s:
    rows = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    if any(row.split()[3] == "03" for row in rows):  # SYN_RECV
        print("half open")
        break
"""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network("host-a", "host-b", "host-c") as made:
        server = made.run_in("host-b", [sys.executable, "-c", SERVE], stdout=subprocess.PIPE)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield made
        server.kill()
        server.communicate()


@pytest.fixture
def net(network: Network) -> Iterator[Network]:
    yield network
    network.heal()


def connect(
    net: Network, host: str, target: str = "host-b", *, port: int = PORT
) -> tuple[str, float]:
    """What a connection from one host to another comes to, and how long it takes."""
    where = net.address(target) if host == OUTSIDE else target
    command = [sys.executable, "-c", CONNECT, where, str(port), str(WAIT_S)]
    said, _ = net.run_in(host, command, stdout=subprocess.PIPE, text=True).communicate()
    word, took_s = json.loads(said)
    return word, took_s


def words(net: Network, *hosts: str) -> list[str]:
    return [connect(net, host)[0] for host in hosts]


def test_everybody_reaches_everybody_by_name_and_from_outside(net: Network) -> None:
    assert words(net, "host-a", "host-c", OUTSIDE) == ["connected"] * 3
    assert connect(net, "host-a", port=PORT + 1)[0] == "Connection refused"


def test_a_cut_is_silent_and_hits_only_the_two(net: Network) -> None:
    net.cut("host-a", "host-b")
    assert words(net, "host-a", "host-c", OUTSIDE) == ["TimeoutError", "connected", "connected"]
    net.heal()
    assert words(net, "host-a") == ["connected"]


def test_a_one_way_cut_lets_the_other_way_pass(net: Network) -> None:
    net.cut_one_way("host-b", "host-a")
    assert words(net, "host-a", "host-c") == ["TimeoutError", "connected"]
    # What host-a sends still arrives, only the answer is lost: host-b's side is half open.
    trying = net.run_in(
        "host-a",
        [sys.executable, "-c", CONNECT, "host-b", str(PORT), "3"],
        stdout=subprocess.DEVNULL,
    )
    watcher = net.run_in("host-b", [sys.executable, "-c", HALF_OPEN], stdout=subprocess.PIPE)
    assert watcher.communicate()[0] == b"half open\n"
    trying.wait()


def test_a_filtered_port_is_silent_and_the_others_are_not(net: Network) -> None:
    net.filter_port("host-b", PORT)
    assert words(net, "host-a", OUTSIDE) == ["TimeoutError", "TimeoutError"]
    assert connect(net, "host-a", port=PORT + 1)[0] == "Connection refused"


def test_a_rejected_port_says_so_at_once(net: Network) -> None:
    net.reject_port("host-b", PORT)
    said, took_s = connect(net, "host-a")
    assert said == "No route to host"
    assert took_s < 1


def test_an_isolated_host_is_out_of_everybodys_reach(net: Network) -> None:
    net.isolate("host-b")
    assert words(net, "host-a", OUTSIDE) == ["TimeoutError", "TimeoutError"]


def test_a_slow_path_delays_both_ways_of_one_host(net: Network) -> None:
    net.slow("host-b", delay_s=0.1)
    for host in ("host-a", OUTSIDE):
        said, took_s = connect(net, host)
        assert said == "connected"
        assert 0.2 <= took_s < 1
    assert connect(net, "host-c", "host-a")[1] < 0.2
    net.heal()
    assert connect(net, "host-a")[1] < 0.2


def test_a_lossy_path_loses_some_packets_and_not_all(net: Network) -> None:
    net.slow("host-b", loss=0.3)
    counter = net.run_in("host-b", [sys.executable, "-c", COUNT], stdout=subprocess.PIPE)
    assert counter.stdout is not None
    assert counter.stdout.readline() == b"ready\n"
    net.run_in("host-a", [sys.executable, "-c", SEND, "host-b"]).wait()
    arrived = int(counter.communicate()[0])
    assert 150 < arrived < 270  # 210 of 300, give or take


def test_a_cut_and_a_slow_path_can_be_together(net: Network) -> None:
    net.slow("host-b", delay_s=0.05)
    net.cut("host-a", "host-b")
    assert words(net, "host-a", "host-c") == ["TimeoutError", "connected"]


def test_nothing_is_left_when_its_maker_is_killed() -> None:
    program = (
        "import signal, sys\n"
        "from bench.network import Network\n"
        "with Network('host-a') as net:\n"
        "    net.run_in('host-a', ['sleep', '1000'])\n"
        "    print('ready', flush=True)\n"
        "    signal.pause()\n"
    )
    maker = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert maker.stdout is not None
    assert maker.stdout.readline() == "ready\n"
    assert traces(maker.pid)
    maker.send_signal(signal.SIGKILL)
    maker.communicate()
    deadline_s = time.monotonic() + 20
    while traces(maker.pid):
        assert time.monotonic() < deadline_s
        sweep()


def traces(pid: int) -> list[str]:
    """Namespaces, files and links that carry a process's mark."""
    rooms = (Path("/run/netns"), Path("/etc/netns"), Path("/sys/class/net"))
    names = [path.name for room in rooms if room.is_dir() for path in room.iterdir()]
    return [name for name in names if name.startswith(f"hf{pid}") and pid != os.getpid()]
