"""What can come of looking at an address, in words that never change."""

from enum import StrEnum

from holdfast.model.pattern import Pattern

# gRPC 1.4x to 1.8x: ... last error: UNKNOWN: ipv4:10.0.0.7:2222: Failed to connect to remote
# host: Connection refused
REFUSED_AT = Pattern(r"ipv[46]:([^ ]+:\d{1,5}): .*Connection refused")


class Outcome(StrEnum):
    ANSWERED = "answered"  # a TensorFlow server, which told its name
    STALLED = "stalled"  # connected, and then no word: a process that is stopped or hangs
    REFUSED = "refused"  # the host is there, and nobody listens
    FILTERED = "filtered"  # no answer at all: a firewall, a dead host, a cut
    UNREACHABLE = "unreachable"  # the network says that there is no way
    RESET = "reset"  # connected, and thrown out
    NOT_GRPC = "not-grpc"  # somebody who speaks something else
    NOT_TENSORFLOW = "not-tensorflow"  # gRPC, but not TensorFlow's
    UNRESOLVED = "unresolved"  # the name means nothing here
    BAD_ADDRESS = "bad-address"  # not host:port
    BLIND = "blind"  # we could not look
