"""How long it takes to look at every address: all pairs on one host, and with half of them dead.

    python bench/check.py

The servers are stand-ins: one process with 64 ports that answers GetStatus as TensorFlow does,
with none of TensorFlow's weight. The dead addresses drop every packet; they need root, for a
network of our own, which the kernel takes away with the last of our processes.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from holdfast.probes.paths import Place, probe_paths

TASKS = 64
FIRST_PORT = 22_000
HALF_DEAD_S_MAX = 10.0
OWN_NETWORK = "--in-a-network-of-our-own"
STAND_IN = "--stand-in"
SETUP = (
    "ip link set lo up",
    "ip link add dead type veth peer name sink",
    "ip link set sink up",  # it takes every packet, and answers none
    "ip link set dead arp off",
    "ip address add 10.99.0.1/16 dev dead",
    "ip link set dead up",
)


def main() -> int:
    if STAND_IN in sys.argv:
        return stand_in()
    if OWN_NETWORK not in sys.argv and os.geteuid() == 0:
        command = ["unshare", "--net", sys.executable, __file__, OWN_NETWORK]
        return subprocess.run(command, check=False).returncode
    for line in SETUP if OWN_NETWORK in sys.argv else ():
        subprocess.run(line.split(), check=True)
    command = [sys.executable, __file__, STAND_IN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as servers:
        try:
            assert servers.stdout is not None
            servers.stdout.readline()
            return measure()
        finally:
            servers.kill()


def measure() -> int:
    alive = [
        f"127.0.0.{host}:{FIRST_PORT + task}" for host in range(1, 17) for task in range(TASKS)
    ]
    for count in (10, 100, 1_000):
        look(f"{count} addresses", alive[:count])
    pairs = [to for by in range(TASKS) for task, to in enumerate(alive[:TASKS]) if task != by]
    look(f"all pairs of {TASKS} tasks", pairs)
    if OWN_NETWORK not in sys.argv:
        print("1000 addresses, half of them dead: not measured, needs root")
        return 0
    dead = [f"10.99.{number // 250 + 1}.{number % 250 + 1}:2222" for number in range(500)]
    mixed = [address for two in zip(alive[:500], dead, strict=True) for address in two]
    took_s = look("1000 addresses, half of them dead", mixed)
    holds = took_s <= HALF_DEAD_S_MAX
    print(f"bar of {HALF_DEAD_S_MAX:g} s: {'holds' if holds else 'BROKEN'}")
    return 0 if holds else 1


def look(what: str, addresses: Sequence[str]) -> float:
    began_s = time.monotonic()
    facts = probe_paths([Place(address) for address in addresses], at_s=time.monotonic, host="-")
    took_s = time.monotonic() - began_s
    counts: dict[str, int] = {}
    for fact in facts:
        counts[str(fact.outcome)] = counts.get(str(fact.outcome), 0) + 1
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    speed = len(facts) / took_s
    print(f"{what}: {took_s:.2f} s, {speed:.0f} looks/s, peak {peak_mib:.0f} MiB ({told})")
    return took_s


def stand_in() -> int:
    """64 ports that name themselves worker:0 to worker:63."""
    import grpc  # noqa: PLC0415 - the measuring process shall import it as Holdfast does

    servers = []
    for task in range(TASKS):
        name = f"/job:worker/replica:0/task:{task}/device:CPU:0".encode()
        device = b"\n" + bytes([len(name)]) + name + b"1" + task.to_bytes(8)
        answer = b"\n" + bytes([len(device)]) + device
        method = grpc.unary_unary_rpc_method_handler(lambda _, __, answer=answer: answer)
        server = grpc.server(ThreadPoolExecutor(1))
        methods = {"GetStatus": method}
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("tensorflow.WorkerService", methods),)
        )
        server.add_insecure_port(f"0.0.0.0:{FIRST_PORT + task}")
        server.start()
        servers.append(server)
    print("up", flush=True)
    servers[0].wait_for_termination()
    return 0


if __name__ == "__main__":
    sys.exit(main())
