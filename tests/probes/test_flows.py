"""Bytes through interfaces, disks and processes: real ones."""

import os
import socket
from pathlib import Path

import pytest

from holdfast.agent.rates import NOT_KNOWN, HostFlows, disk_rates, network_rates
from holdfast.probes import flows
from holdfast.probes.flows import DiskFlow, Flow, disk_flow, interface_flows, storage_flow

SENT_BYTES = 1 << 20
DISKSTATS = b"""\
   7       0 loop0 242 1 6282 110 139 90 1330 215 0 264 501 0 0 0 0 86 175
 259       0 nvme0n1 100 0 2000 50 200 0 4000 60 0 1500 110 0 0 0 0 0 0
 259       1 nvme0n1p1 100 0 2000 50 200 0 4000 60 0 1500 110 0 0 0 0 0 0
   8       0 sda 10 0 20 5 20 0 40 6 0 500 11
   8       1 sda1 10 0 20 5 20 0 40 6 0 500 11
 253       0 dm-0 100 0 2000 50 200 0 4000 60 0 1500 110 0 0 0 0 0 0
   8      16 sdb a line that was cut
"""


def test_what_is_sent_over_the_loopback_is_counted_there() -> None:
    before = interface_flows(os.getpid())["lo"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
        with sender, receiver:
            sender.sendall(bytes(SENT_BYTES // 16))
            for _ in range(15):
                received = 0
                while received < SENT_BYTES // 16:
                    received += len(receiver.recv(SENT_BYTES))
                sender.sendall(bytes(SENT_BYTES // 16))
    after = interface_flows(os.getpid())["lo"]
    assert after.into - before.into >= SENT_BYTES * 15 // 16
    assert after.out - before.out >= SENT_BYTES * 15 // 16


def test_a_partition_and_what_stands_on_other_disks_are_not_counted_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flows, "_lines", lambda _: DISKSTATS.splitlines())
    found = disk_flow()
    assert found.bytes == Flow(into=2020 * 512, out=4040 * 512)
    assert found.busy_s == {"nvme0n1": 1.5, "sda": 0.5}


def test_what_a_process_writes_for_storage_is_counted(tmp_path: Path) -> None:
    own = os.getpid()
    before = storage_flow([own])
    if before is None:
        pytest.skip("/proc/self/io: this kernel does not count")
    descriptor = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, os.urandom(SENT_BYTES))
    os.fsync(descriptor)
    os.close(descriptor)
    after = storage_flow([own, 2**30])  # the second one does not exist
    assert after is not None
    on_memory = Path("/proc/self/mounts").read_text().count("tmpfs /tmp ")
    assert after.out - before.out >= (0 if on_memory else SENT_BYTES)


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert interface_flows(2**30) == {}
    assert storage_flow([2**30]) is None


def host(at_s: float, out: int, busy_s: float) -> HostFlows:
    both = {"lo": Flow(5, 5), "eth0": Flow(0, out)}
    return HostFlows(at_s, both, DiskFlow(Flow(0, out), {"sda": busy_s, "sdb": 0.0}))


def test_rates_are_what_came_in_between() -> None:
    first, second = host(10.0, 1000, 1.0), host(20.0, 6000, 6.0)
    assert network_rates(None, first) == {"received_bytes_per_s": {}, "sent_bytes_per_s": {}}
    assert disk_rates(None, first) == {}
    assert network_rates(first, second)["sent_bytes_per_s"] == {"eth0": 500.0}
    found = disk_rates(first, second)
    assert found == {
        "read_bytes_per_s": 0.0,
        "written_bytes_per_s": 500.0,
        "disk_busy_share": 0.5,
    }


def test_a_sum_that_began_anew_gives_no_rate() -> None:
    found = disk_rates(host(10.0, 6000, 6.0), host(20.0, 1000, 1.0))
    assert found["written_bytes_per_s"] == NOT_KNOWN
    assert found["disk_busy_share"] == 0.0
    assert network_rates(host(10.0, 6000, 6.0), host(20.0, 1000, 1.0))["sent_bytes_per_s"] == {}
