"""Several hosts on one machine: network namespaces around a router that can be told to fail.

Every host has a link of its own to the router, and so has this machine ("outside"). What the
router shall drop is said with routing rules, which need no firewall. Takes root and `ip`.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent
NETNS = Path("/run/netns")
NAMES = Path("/etc/netns")
OUTSIDE = "outside"
PREFIX = "hf"
LEFTOVER = re.compile(rf"{PREFIX}(\d+)[a-z]\d*$")
CUTS_FROM, SLOW_FROM = 100, 1_000  # preferences of rules: a cut comes before a detour
SLOW_TABLE = 100
READY_S_MAX = 10.0
NETWORKS = [f"10.{second}.{third}" for second in range(210, 250) for third in range(256)]


class Network:
    """`with Network("host-a", "host-b") as net:`, one at a time; all is gone afterwards."""

    def __init__(self, *hosts: str) -> None:
        self.hosts = (OUTSIDE, *hosts)
        self._id = f"{PREFIX}{os.getpid()}"
        self._router = f"{self._id}r"
        self._net = ""
        self._rules: list[list[str]] = []
        self._slow: dict[str, subprocess.Popen[str]] = {}
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        sweep()
        self._guard = _guard(self._id)
        try:
            self._net = _free_net()
            self._make()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def address(self, host: str) -> str:
        return f"{self._net}.{4 * self.hosts.index(host) + 2}"

    def run_in(self, host: str, argv: Sequence[str], **popen: Any) -> "subprocess.Popen[Any]":
        """Start a program on a host; there, the names of all hosts can be resolved."""
        if host == OUTSIDE:
            return subprocess.Popen(argv, **popen)
        return subprocess.Popen(["ip", "netns", "exec", self.namespace(host), *argv], **popen)

    def cut(self, one: str, other: str) -> None:
        """No packet passes between two hosts, and nobody is told."""
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def cut_one_way(self, source: str, target: str) -> None:
        """What `source` sends never reaches `target`; the way back is open."""
        self._rule("from", self.address(source), "to", self.address(target), "blackhole")

    def isolate(self, host: str) -> None:
        self._rule("from", self.address(host), "blackhole")
        self._rule("to", self.address(host), "blackhole")

    def filter_port(self, host: str, port: int) -> None:
        """A firewall that silently drops what comes for a port."""
        self._rule(*self._to_port(host, port), "blackhole")

    def reject_port(self, host: str, port: int) -> None:
        """A firewall that says so."""
        self._rule(*self._to_port(host, port), "prohibit")

    def _to_port(self, host: str, port: int) -> tuple[str, ...]:
        return ("to", self.address(host), "ipproto", "tcp", "dport", str(port))

    def heal(self) -> None:
        """Undo all cuts and filters, and make slow paths fast."""
        for rule in self._rules:
            _ip("-n", self._router, "rule", "del", *rule)
        self._rules = []
        for process in self._slow.values():
            process.kill()  # its devices vanish, and with them the routes through them
            process.communicate()
        self._slow = {}

    def slow(self, host: str, *, delay_s: float = 0.0, loss: float = 0.0) -> None:
        """Packets from and to a host take `delay_s` longer each way; `loss` of them get lost.

        The kernel may lack netem, so a child process carries the packets between two TUN
        devices: near (towards the router) and far (towards the host).
        """
        number = self.hosts.index(host)
        near, far = f"near{number}", f"far{number}"
        carrier = [sys.executable, str(HERE / "carrier.py"), near, far, str(delay_s), str(loss)]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self._router, *carrier], stdout=subprocess.PIPE, text=True
        )
        self._slow[host] = process
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{carrier} did not start")
        outbound, inbound = str(SLOW_TABLE + 2 * number), str(SLOW_TABLE + 2 * number + 1)
        for device, table in ((far, outbound), (near, inbound)):
            _ip("-n", self._router, "link", "set", device, "up")
            _ip("-n", self._router, "route", "add", "default", "dev", device, "table", table)
        # What comes out of the carrier goes on as ever; only then is a packet new to it.
        detours = (
            ("iif", near, "lookup", "main"),
            ("iif", far, "lookup", "main"),
            ("iif", f"h{number}", "lookup", outbound),
            ("to", self.address(host), "lookup", inbound),
        )
        for offset, detour in enumerate(detours):
            self._rule(*detour, pref=SLOW_FROM + 10 * number + offset)

    def _rule(self, *words: str, pref: int | None = None) -> None:
        rule = [*words, "pref", str(pref or CUTS_FROM + len(self._rules))]
        _ip("-n", self._router, "rule", "add", *rule)
        self._rules.append(rule)

    def namespace(self, host: str) -> str:
        return f"{self._id}h{self.hosts.index(host)}"

    def _make(self) -> None:
        _ip("netns", "add", self._router)
        _set(self._router, "net/ipv4/ip_forward", "1")
        _set(self._router, "net/ipv4/conf/all/rp_filter", "0")
        _set(self._router, "net/ipv4/conf/default/rp_filter", "0")
        for number, host in enumerate(self.hosts):
            self._connect(number, host)
        names = "".join(f"{self.address(host)} {host}\n" for host in self.hosts)
        for host in self.hosts[1:]:
            place = NAMES / self.namespace(host)
            place.mkdir(parents=True)
            (place / "hosts").write_text(f"127.0.0.1 localhost\n{names}")

    def _connect(self, number: int, host: str) -> None:
        """A link from the router to a host, or to this machine."""
        mine, gateway = self.address(host), f"{self._net}.{4 * number + 1}"
        inner = f"h{number}"
        if host == OUTSIDE:
            where, device = [], f"{self._id}o"
        else:
            where, device = ["-n", self.namespace(host)], "eth0"
            _ip("netns", "add", self.namespace(host))
            _ip(*where, "link", "set", "lo", "up")
        peer = ["peer", "name", inner, "netns", self._router]
        _ip(*where, "link", "add", "name", device, "type", "veth", *peer)
        _ip(*where, "address", "add", f"{mine}/30", "dev", device)
        _ip("-n", self._router, "address", "add", f"{gateway}/30", "dev", inner)
        _ip(*where, "link", "set", "dev", device, "up")
        _ip("-n", self._router, "link", "set", "dev", inner, "up")
        wide = f"{self._net}.0/24" if host == OUTSIDE else "default"
        _ip(*where, "route", "add", wide, "via", gateway)

    def _end(self) -> None:
        for process in self._slow.values():
            process.kill()
            process.communicate()
        _remove(self._id)
        if self._guard:
            self._guard.communicate()


def available() -> str:
    """Why there can be no network here; empty when there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "making hosts takes root and ip (iproute2)"
    trial = f"{PREFIX}{os.getpid()}t0"
    made = subprocess.run(["ip", "netns", "add", trial], check=False, capture_output=True)
    if made.returncode:
        return f"no network namespaces here: {made.stderr.decode().strip()}"
    _ip("netns", "del", trial)
    return ""


def sweep() -> None:
    """Remove what is left of networks whose process is gone."""
    names = [path.name for room in (NETNS, NAMES) if room.is_dir() for path in room.iterdir()]
    links = [path.name for path in Path("/sys/class/net").iterdir()]
    found = [match for name in (*names, *links) if (match := LEFTOVER.match(name))]
    for pid in {match[1] for match in found}:
        if not Path(f"/proc/{pid}").exists():
            _remove(f"{PREFIX}{pid}")


def _remove(network: str) -> None:
    """Everything with this name: processes first, else their namespace lives on unnamed."""
    spaces = [path.name for path in NETNS.iterdir()] if NETNS.is_dir() else []
    for name in (name for name in spaces if _belongs(name, network)):
        listed = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True)
        for pid in listed.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    for link in Path("/sys/class/net").iterdir():
        if _belongs(link.name, network):
            gone = ["ip", "link", "del", "dev", link.name]
            subprocess.run(gone, check=False, capture_output=True)
    for place in NAMES.iterdir() if NAMES.is_dir() else ():
        if _belongs(place.name, network):
            shutil.rmtree(place, ignore_errors=True)


def _belongs(name: str, network: str) -> bool:
    found = LEFTOVER.match(name)
    return found is not None and f"{PREFIX}{found[1]}" == network


def _guard(network: str) -> "subprocess.Popen[bytes]":
    """A child that cleans up when we are gone, even killed: our end closes its pipe."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).absolute()), network],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def _free_net() -> str:
    routes = subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout
    start = os.getpid() % len(NETWORKS)
    turned = NETWORKS[start:] + NETWORKS[:start]
    return next(net for net in turned if f"{net}." not in routes)


def _set(space: str, key: str, value: str) -> None:
    write = f"import pathlib; pathlib.Path('/proc/sys/{key}').write_text('{value}')"
    command = ["ip", "netns", "exec", space, sys.executable, "-S", "-c", write]
    subprocess.run(command, check=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


if __name__ == "__main__":  # the guard
    sys.stdin.read()
    _remove(sys.argv[1])
