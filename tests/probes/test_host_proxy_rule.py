"""Our rule for whom gRPC sends to a proxy, held against gRPC itself."""

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.probes.environment import seen_environment

WHERE: dict[str, Any] = {"at_s": 0.0, "host": "host-a"}
CALL = """
import sys, grpc
channel = grpc.insecure_channel(sys.argv[1])
grpc.channel_ready_future(channel)
sys.stdin.readline()
"""
PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "no_proxy", "no_grpc_proxy", "all_proxy")


@pytest.mark.parametrize(
    "variables",
    [
        {"http_proxy": "http://PROXY"},
        {"https_proxy": "http://PROXY"},
        {"grpc_proxy": "http://ada:pw@PROXY/"},
        {"HTTP_PROXY": "http://PROXY", "all_proxy": "http://PROXY"},
        {"http_proxy": "http://PROXY", "grpc_proxy": ""},
        {"http_proxy": "https://PROXY"},
        {"http_proxy": "PROXY"},
        {"http_proxy": "http://PROXY", "no_proxy": "localhost, 127.0.0.1"},
        {"http_proxy": "http://PROXY", "no_proxy": ".0.1"},
        {"http_proxy": "http://PROXY", "no_proxy": "127.0.0.0/8"},
        {"http_proxy": "http://PROXY", "no_proxy": "*"},
        {"http_proxy": "http://PROXY", "no_proxy": "127.*"},
        {"http_proxy": "http://PROXY", "no_proxy": "127.0.0.1", "no_grpc_proxy": ""},
        {"http_proxy": "http://PROXY", "NO_PROXY": "127.0.0.1"},
    ],
    ids=str,
)
def test_whom_grpc_sends_to_a_proxy_is_whom_we_say(variables: dict[str, str]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as proxy,
        socket.create_server(("127.0.0.1", 0)) as peer,
    ):
        place = f"127.0.0.1:{proxy.getsockname()[1]}"
        given = {name: value.replace("PROXY", place) for name, value in variables.items()}
        address = f"127.0.0.1:{peer.getsockname()[1]}"
        assert is_sent_to(proxy, peer, address, given) == is_said_of(address, given)


def is_sent_to(
    proxy: socket.socket, peer: socket.socket, address: str, given: dict[str, str]
) -> bool:
    """Whom of the two gRPC really connects to."""
    clean = {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}
    with subprocess.Popen(
        [sys.executable, "-c", CALL, address],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**clean, **given},
    ) as caller:
        try:
            proxy.settimeout(0.05)
            peer.settimeout(0.05)
            for _ in range(600):
                for listener in (proxy, peer):
                    try:
                        listener.accept()[0].close()
                    except TimeoutError:
                        continue
                    return listener is proxy
        finally:
            caller.kill()
    pytest.fail("gRPC connected to nobody")


def is_said_of(address: str, given: dict[str, str]) -> bool:
    worker = TaskId("worker", 0)
    spec = SpecRead(
        source="TF_CONFIG",
        cluster={"worker": {"0": "host-a:2222", "1": address}},
        role="worker",
        index="0",
        given=True,
        **WHERE,
    )
    seen = seen_environment(given, {**WHERE, "task": worker})
    return any(found.name == "proxy-hijack" for found in diagnose(Evidence([spec, seen])).findings)
