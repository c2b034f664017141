"""NCCL could not set up or keep its connections between GPUs of different processes.

## What you see
`NCCL WARN` lines with the host in front, such as `Bootstrap : no socket interface found`, `Call to
connect returned Connection refused`, `NET/IB : Got completion from peer … with error 12`; then
`unhandled system error` or `ncclSystemError` in all members.

## Why it happens
NCCL chose an interface that does not lead to the others (docker0, a container without IPv6), a
firewall closes its random ports, InfiniBand is down or not allowed in the container (`ulimit -l`),
or /dev/shm is too small for it.

## How to confirm it by hand
Run with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET` and read which interface each host takes;
`ibstat`, `ip -br addr`, `df -h /dev/shm`.

## What to do
Name the interface with `NCCL_SOCKET_IFNAME=eth0`, or turn InfiniBand off with `NCCL_IB_DISABLE=1`
to see whether it is the one; in containers use the host's network and `--shm-size=8g`.

## When this accusation would be wrong
When a peer died first, NCCL complains of its connections, too: who failed first is told first.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

_HOST = r"(?:^|[\s>])(?P<culprit>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] "

# Peers that left at the end, and what is tried only.
OVER = Pattern(r"NCCL INFO")

cause = Cause(
    family="nccl-network",
    remedy=AskHuman(),
    words=(
        # Who could not be reached, where the line names it.
        Words(
            Pattern(
                r"WARN .*(?:(?:Call to \w+|[Cc]onnect|Connection|peer|Net|socket\w*)\b.*)"
                r"\b(?P<culprit>(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f]*::?[0-9a-f:]+)<\d+>"
                r".*(?:failed|returned|refused|timed out|closed|error|status)"
            ),
            unless=OVER,
            says="NCCL found or kept no connection to {culprit}: {line}",
        ),
        Words(
            Pattern(
                _HOST + r".*(?:[Nn]o (?:socket )?interface found|Socket creation failed"
                r"|No IP interface found|Got completion from peer .* with (?:error|status)"
                r"|Call to ibv_\w+ failed|Failed to (?:initialize|find) any NET"
                r"|NET/(?:Socket|IB|OFI) ?: .*(?:[Ff]ailed|error|No device found for)"
                r"|NET/OFI .*failed|Could not find NET with id)"
            ),
            says="NCCL could not use the network on {culprit}: {line}",
        ),
        Words(
            Pattern(
                _HOST + r".*(?:Call to (?:connect|bind|socket|recv\w*|send\w*|accept) .*"
                r"(?:returned|failed)|Connect to .* (?:failed|returned)|socketPollConnect"
                r"|Net : .*(?:refused|timed out|closed by remote peer)|socket progress error"
                r"|Proxy Call to rank \d+ failed|Failed to execute operation Connect)"
            ),
            unless=OVER,
            says="NCCL lost or found no connection on {culprit}: {line}",
        ),
        # Older ones do not say who writes.
        Words(
            Pattern(
                r"(?:socket\.(?:h|cc|cu)|net_\w+\.(?:cc|cu|h)):\d+ (?:NCCL )?WARN .*"
                r"(?:Call to \w+ .*(?:failed|returned)|[Cc]onnect.* (?:failed|refused|timed out))"
            ),
            unless=Pattern(OVER.text + r"|[\w.-]+:\d+:\d+ \[\d+\] "),
            says="NCCL lost or found no connection: {line}",
        ),
        Words(
            Pattern(
                r"NCCL (?:failure|error|WARN)\b.*(?:unhandled system error|ncclSystemError)"
                r"|nccl[A-Z]\w+ failed: unhandled system error"
                r"|NCCL WARN (?:NET/\w+ ?: (?:Got completion|Unable to open"
                r"|[Pp]eer .*message trunc)"
                r"|Call to (?:ibv_\w+|connect|bind|accept|recv|send|socket|poll)\b[^\n]*(?:failed"
                r"|returned|timed out))|\bibv_\w+(?:\(\))? failed\b|Transport retry count exceeded"
                r"|[Ff]ailed to create a queue pair|mlx5_\d+:\d+/(?:IB|RoCE|RC\w*)[^\n]*"
                r"(?:error|exceeded|[Ll]ocal|[Rr]emote)|local QP operation error"
                r"|RDMA_CM_EVENT_\w*ERR"
                r"|libibverbs: [^\n]*couldn't (?:load|open)|OpenFabrics? .*failed to initialize"
                r"|ncclSystemError: System call|ncclInternalError.*(?:socket|network|NET)"
                r"|No socket interface found"
                r"|Bootstrap : no socket interface found"
            ),
            Weight.SIGN,
            blames_nobody=True,
            says="NCCL could not set up its network: {line}",
        ),
    ),
    do=(
        "see which interface each host takes: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET",
        "name the right one: export NCCL_SOCKET_IFNAME=eth0",
        "try without InfiniBand: export NCCL_IB_DISABLE=1",
    ),
)
