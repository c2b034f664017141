"""One sentence for each kind of fact."""

import inspect
from typing import Any

import pytest

from holdfast.model import facts, log_facts, program_facts, watch_facts
from holdfast.model.cluster import TaskId
from holdfast.model.path import Outcome
from holdfast.views import fact_text as module
from holdfast.views.fact_text import fact_text
from holdfast.views.watch_fact_text import SAY

HERE: dict[str, Any] = {"at_s": 1.0, "host": "host-a"}
WORKER = TaskId("worker", 1)

SENTENCES: list[tuple[facts.Fact, str]] = [
    (
        facts.SpecRead(
            source="TF_CONFIG",
            cluster={"chief": {"0": "a:1"}, "worker": {"0": "b:1", "1": "c:1"}},
            role="worker",
            index="1",
            **HERE,
        ),
        "TF_CONFIG has a cluster of 1 chief, 2 worker, and its own task is worker:1",
    ),
    (
        facts.SpecRead(source="pid 7", cluster={}, given=True, **HERE),
        "pid 7 was given a cluster of nobody",
    ),
    (
        facts.SpecUnreadable(
            source="a.json", mistake="cut-off", line=3, column=7, excerpt='{"cl', **HERE
        ),
        'a.json, line 3, column 7: cut-off: {"cl',
    ),
    (facts.SpecUnreadable(source="TF_CONFIG", mistake="unset", **HERE), "TF_CONFIG: unset"),
    (
        facts.PathProbed(
            address="b:1",
            outcome=Outcome.ANSWERED,
            target=WORKER,
            name="worker:1",
            devices=("CPU:0", "GPU:0"),
            took_s=0.0042,
            **HERE,
        ),
        "b:1 (worker:1): a TensorFlow server answered as worker:1 with CPU:0, GPU:0 after 4.2 ms",
    ),
    (
        facts.PathProbed(address="b:1", outcome="refused", says="Connection refused", **HERE),
        "b:1: the host is there, and nobody listens: Connection refused",
    ),
    (facts.PathProbed(address="b:1", outcome="of-tomorrow", **HERE), "b:1: of-tomorrow"),
    (
        facts.PathMeasured(
            address="b:1", tries=20, lost=2, p50_s=0.0004, p99_s=1.5, bytes_per_s=2**20, **HERE
        ),
        "b:1: 0.4 ms in the middle, 1.5 s at worst, 2 of 20 lost, 1.0 MiB/s",
    ),
    (
        facts.PathMeasured(
            address="b:1", tries=20, lost=0, p50_s=0.1, p99_s=0.2, target=WORKER, **HERE
        ),
        "b:1 (worker:1): 100 ms in the middle, 200 ms at worst, 20 tries",
    ),
    (
        facts.PeersListed(address="b:1", answered=True, sees={"ps:0": 1, "chief:0": 2}, **HERE),
        "b:1 sees chief:0, ps:0",
    ),
    (
        facts.PeersListed(address="b:1", answered=False, waited_s=3.0, **HERE),
        "b:1 did not say within 3 s whom it sees: it waits for somebody",
    ),
    (
        facts.SocketsSeen(listening=(2222,), connected=("b:1",), trying=("c:1",), **HERE),
        "listens on 2222, has 1 connections, waits for an answer from c:1",
    ),
    (facts.SocketsSeen(**HERE), "listens on no port, has 0 connections"),
    (
        facts.ProcessSeen(pid=7, state="T", cpu_s=1.25, **HERE),
        "pid 7 was stopped after 1.2 s of CPU, and has not loaded TensorFlow",
    ),
    (
        facts.ProcessSeen(pid=7, state="X", loaded_tensorflow=True, **HERE),
        "pid 7 was in state X after 0.0 s of CPU",
    ),
    (
        facts.ProcessSeen(
            pid=7, state="t", loaded_tensorflow=True, lasting_s=2.0, tracer="gdb (pid 9)", **HERE
        ),
        "pid 7 was stopped by a debugger for 2 s (gdb (pid 9)) after 0.0 s of CPU",
    ),
    (
        facts.ProcessSeen(
            pid=7, state="D", loaded_tensorflow=True, lasting_s=2.0, frozen="freezer/a", **HERE
        ),
        (
            "pid 7 waited for storage or the kernel for 2 s (frozen with its cgroup freezer/a)"
            " after 0.0 s of CPU"
        ),
    ),
    (
        facts.ProcessSeen(
            pid=7, state="D", loaded_tensorflow=True, lasting_s=9.0, path="/ckpt/a", **HERE
        ),
        "pid 7 waited for storage or the kernel for 9 s (at /ckpt/a) after 0.0 s of CPU",
    ),
    (
        facts.AddressNotHere(address="b:1", ips=("10.0.0.1",), **HERE),
        "b:1 (10.0.0.1) is not an address of host-a",
    ),
    (
        facts.HostMeasured(
            cpus=1,
            memory_bytes=2**34,
            memory_free_bytes=2**33,
            cgroup_limit_bytes=2**32,
            tasks=("worker:1",),
            **HERE,
        ),
        "1 CPU, 8.0 GiB of 16.0 GiB memory free, 4.0 GiB allowed here, for worker:1",
    ),
    (
        facts.FolderMeasured(
            path="/ckpt", purpose="checkpoints", filesystem="nfs4", write="works", **HERE
        ),
        "/ckpt (checkpoints) on nfs4; writing: works",
    ),
    (facts.FolderMeasured(path="/x", purpose="logs", **HERE), "/x (logs); nothing was tried"),
    (
        facts.ClockMeasured(**HERE),
        "the clock was compared with nothing; the kernel does not say whether it is synchronised",
    ),
    (
        facts.ClockMeasured(
            against="nas:/x", offset_s=-2.5, error_s=0.01, synchronised=True, **HERE
        ),
        "the clock is 2.5 s behind nas:/x, give or take 10 ms; the kernel calls it synchronised",
    ),
    (
        facts.EnvironmentSeen(variables={"https_proxy": "http://p:1"}, pid=7, **HERE),
        "pid 7 gets https_proxy=http://p:1",
    ),
    (
        facts.EnvironmentSeen(variables={}, **HERE),
        "a task started here gets no variable that gRPC looks at",
    ),
    (
        program_facts.Hdf5LocksOff(file="train.py", line=3, text="locking=False", **HERE),
        "train.py line 3: locking=False",
    ),
    (
        facts.VersionsSeen(interpreter="python3", versions={"python": "3.11.7"}, **HERE),
        "python3: python 3.11.7",
    ),
    (
        facts.StartBlocked(deadline_s=120.0, missing=("worker:1",), waiting=("chief:0",), **HERE),
        "not started after 120 s: chief:0 waited for worker:1",
    ),
    (
        facts.StartBlocked(deadline_s=120.0, missing=("worker:1",), waiting=(), **HERE),
        "not started after 120 s: missing: worker:1",
    ),
    (facts.StartWaits(missing=("a:0",), waiting=(), says="a:0 is slow", **HERE), "a:0 is slow"),
]


@pytest.mark.parametrize(("fact", "sentence"), SENTENCES, ids=lambda value: type(value).__name__)
def test_a_fact_is_one_sentence(fact: facts.Fact, sentence: str) -> None:
    assert fact_text(fact) == sentence


def test_every_kind_of_fact_has_a_sentence_of_its_own() -> None:
    kinds = {
        kind
        for room in (facts, log_facts, program_facts, watch_facts)
        for _, kind in inspect.getmembers(room, inspect.isclass)
        if issubclass(kind, facts.Fact) and kind is not facts.Fact
    }
    assert kinds == set(module._SAY) | set(SAY)


def test_long_lists_are_cut_and_counted() -> None:
    fact = facts.SocketsSeen(listening=tuple(range(1000, 1030)), **HERE)
    assert fact_text(fact).startswith(
        "listens on 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007 and 22"
    )
