"""Starts all tasks on this machine, under a supervisor that outlives the terminal."""

import errno
import random
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.model.cluster import ClusterSpec, TaskId
from holdfast.model.errors import StorageFailed
from holdfast.model.job import Job
from holdfast.model.plan import Plan, plan_tasks

# Below the kernel's range for outgoing connections: a port in that range can be taken by
# any connection between our look at it and TensorFlow's use of it, many seconds later.
PORT_FIRST, PORT_LAST = 20_000, 32_000


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the tasks will listen; the sockets keep other runs from the same ports."""

    cluster: ClusterSpec
    claims: tuple[socket.socket, ...]


class Local:
    def addresses(self, job: Job) -> Addresses:
        """A port for each task that nobody listens on and no other run has claimed.

        Where the job says itself where its tasks listen, that is where they listen.
        """
        if job.addresses:
            return Addresses(ClusterSpec(_given(job)), ())
        return free_addresses(job.tasks)

    def plan(self, job: Job, cluster: ClusterSpec, *, run_id: str, run_dir: str) -> Plan:
        """Exactly what will be started. Pure."""
        return plan_tasks(job, cluster, run_id=run_id, run_dir=run_dir)

    def submit(
        self, order: bytes, addresses: Addresses, log_fd: int, *, files_max: int
    ) -> subprocess.Popen[bytes]:
        """Start the supervisor in a session of its own; it inherits the claims on the ports."""
        claims = tuple(claim.fileno() for claim in addresses.claims)
        supervisor = subprocess.Popen(
            # -P: a random.py where the user works must not become a part of us.
            [sys.executable, "-P", "-m", "holdfast.supervisor", str(files_max)],
            stdin=subprocess.PIPE,
            stdout=log_fd,
            stderr=log_fd,
            start_new_session=True,
            pass_fds=claims,
        )
        assert supervisor.stdin is not None
        # Through a pipe, not a file or arguments: the environment may hold secrets.
        supervisor.stdin.write(order)
        supervisor.stdin.close()
        for claim in addresses.claims:
            claim.close()
        return supervisor

    def resume(self, run_dir: str, log_fd: int) -> subprocess.Popen[bytes]:
        """Start a supervisor for a run that has lost its own; the tasks are there already."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "holdfast.supervisor", "--resume", run_dir],
            stdin=subprocess.DEVNULL,
            stdout=log_fd,
            stderr=log_fd,
            start_new_session=True,
        )


def free_addresses(tasks: Iterable[TaskId]) -> Addresses:
    """On this host; the claims must stay open as long as the ports are used."""
    ports = list(range(PORT_FIRST, PORT_LAST))
    random.shuffle(ports)
    found: dict[TaskId, str] = {}
    claims: list[socket.socket] = []
    for task in tasks:
        claim = None
        while ports and claim is None:
            port = ports.pop()
            claim = _claim(port)
        if claim is None:
            raise StorageFailed(
                f"no free port is left between {PORT_FIRST} and {PORT_LAST}",
                do="end some of the programs that listen there: ss -ltnp",
            )
        claims.append(claim)
        found[task] = f"127.0.0.1:{port}"
    return Addresses(ClusterSpec(found), tuple(claims))


def proxy_exceptions(cluster: ClusterSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """What keeps gRPC from sending the cluster's own connections to a proxy, if there is one.

    gRPC obeys a lower-case proxy variable even for 127.0.0.1, and the start-up then blocks
    without a word. It reads no_grpc_proxy before no_proxy, and nobody else reads it.
    """
    if not any(environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return {}
    known = environ.get("no_grpc_proxy") or environ.get("no_proxy") or ""
    hosts = sorted({where.rpartition(":")[0].strip("[]") for where in cluster.addresses.values()})
    listed = [name for name in (known, *hosts) if name]
    return {"no_grpc_proxy": ",".join(listed)}


def _given(job: Job) -> dict[TaskId, str]:
    return {
        task: job.addresses[task.role][task.index]
        for task in job.tasks
        if task.role in job.addresses
    }


def _claim(port: int) -> socket.socket | None:
    """A name in the kernel that only one process can hold, gone when its last holder ends."""
    claim = _socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0holdfast-port-{port}")
    except OSError:
        claim.close()
        return None
    if _is_free(port):
        return claim
    claim.close()
    return None


def _socket(family: socket.AddressFamily, kind: socket.SocketKind) -> socket.socket:
    try:
        return socket.socket(family, kind)
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE}:
            raise
        raise StorageFailed(
            "more tasks than this process may have files open for (ulimit -n)",
            do="ask for fewer tasks, or raise the limit: ulimit -Hn, ulimit -n",
        ) from error


def _is_free(port: int) -> bool:
    """As a gRPC server would find it: on every address, over lingering old connections."""
    return all(
        _can_listen(family, address, port)
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))
    )


def _can_listen(family: socket.AddressFamily, address: str, port: int) -> bool:
    try:
        with _socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            trial.bind((address, port))
            trial.listen(1)
    except OSError as error:
        # A host without IPv6 has nobody on that side of the port.
        return error.errno in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}
    return True


backend = Local()
