"""Whether a task could listen on its address: real sockets, real resolver."""

import os
import socket
import subprocess
import sys

import psutil

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AddressNotHere, PortHeld, ProbeBlind
from holdfast.probes.links import Sockets, sockets_of
from holdfast.probes.net import ips_of, is_here, own_port

WHERE = {"at_s": 0.5, "host": "host-a"}
WORKER = TaskId("worker", 1)
NOT_OURS = "192.0.2.7"  # set aside for documentation: no host has it


def test_a_port_that_somebody_holds_is_told_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (held,) = own_port(f"localhost:{port}", WORKER, WHERE)
    assert isinstance(held, PortHeld)
    assert (held.port, held.pid, held.task) == (port, os.getpid(), WORKER)
    assert held.user == psutil.Process().username()


def test_a_free_port_of_this_host_is_worth_no_fact() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert list(own_port(f"127.0.0.1:{port}", WORKER, WHERE)) == []
    assert list(own_port(f"[::1]:{port}", WORKER, WHERE)) == []


def test_an_address_of_another_host_is_told_and_its_port_looked_at_all_the_same() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        elsewhere, held = own_port(f"{NOT_OURS}:{port}", WORKER, WHERE)
    assert isinstance(elsewhere, AddressNotHere)
    assert (elsewhere.ips, elsewhere.task) == ((NOT_OURS,), WORKER)
    assert isinstance(held, PortHeld)


def test_a_name_that_means_nothing_here_is_said_to_be_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    (blind,) = own_port(f"no-such-host.invalid:{port}", WORKER, WHERE)
    assert isinstance(blind, ProbeBlind)
    assert blind.task == WORKER


def test_an_address_that_is_none_is_left_to_whoever_reads_the_definition() -> None:
    for address in ("", "here", "here:0", "here:65536", "here:2222x", "a b:2222"):
        assert list(own_port(address, WORKER, WHERE)) == []


def test_this_host_knows_its_own_addresses() -> None:
    assert all(map(is_here, ("localhost", "127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "[::1]")))
    assert is_here("::ffff:127.0.0.1")
    for found in psutil.net_if_addrs().values():
        for address in found:
            if address.family in {socket.AF_INET, socket.AF_INET6}:
                assert is_here(address.address.partition("%")[0])
    assert not is_here(NOT_OURS)


def test_names_that_no_resolver_should_see_are_not_asked_for() -> None:
    assert ips_of("") == ()
    assert ips_of("a" * 300) == ()
    assert ips_of("a\0b") == ()
    assert not is_here("no-such-host.invalid")


def test_sockets_of_processes_are_told_by_what_they_do() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as accepted,
    ):
        mine = sockets_of([os.getpid()])
        ours = f"127.0.0.1:{accepted.getpeername()[1]}"
        theirs = f"127.0.0.1:{client.getpeername()[1]}"
        assert server.getsockname()[1] in mine.listening
        assert {ours, theirs} <= set(mine.connected)
        assert mine.trying == ()


def test_addresses_of_both_families_are_written_as_people_do() -> None:
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server,
        socket.create_connection(("127.0.0.1", server.getsockname()[1])) as old,
        server.accept()[0],
        socket.create_connection(("::1", server.getsockname()[1])) as new,
        server.accept()[0],
    ):
        seen = sockets_of([os.getpid()])
        assert server.getsockname()[1] in seen.listening
        assert f"127.0.0.1:{old.getsockname()[1]}" in seen.connected
        assert f"[::1]:{new.getsockname()[1]}" in seen.connected
        assert not any("ffff" in end for end in seen.connected)


def test_a_connection_that_nobody_answers_is_being_tried() -> None:
    """A full queue of a listener that accepts nobody leaves the next one without an answer."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        clients = [socket.socket() for _ in range(4)]
        try:
            for client in clients:
                client.settimeout(0)
                client.connect_ex(address)
            trying = sockets_of([os.getpid()]).trying
        finally:
            for client in clients:
                client.close()
    assert set(trying) == {f"127.0.0.1:{address[1]}"}


def test_sockets_of_another_process_are_seen_and_ours_are_not_taken_for_its() -> None:
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "print(s.getsockname()[1], flush=True); input()"
    )
    with (
        socket.create_server(("127.0.0.1", 0)) as mine,
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other,
    ):
        assert other.stdout is not None
        port, own = int(other.stdout.readline()), mine.getsockname()[1]
        seen = sockets_of([other.pid])
        both = sockets_of([other.pid, os.getpid()])
        other.communicate(b"\n")
    assert seen == Sockets(listening=(port,))
    assert {port, own} <= set(both.listening)


def test_processes_that_are_gone_have_no_sockets() -> None:
    assert sockets_of([]) == Sockets()
    assert sockets_of([2**22 + 1]) == Sockets()
