"""Addresses of tasks: host and port, or what is wrong with the text."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

PORT_MAX = 65_535
HOST_LENGTH_MAX = 253  # of a name in DNS
_PORT_DIGITS_MAX = 5
_REMEMBERED_MAX = 65_536
_PUNCTUATION = frozenset(".-_")
_LOOPBACK_NAMES = frozenset(
    {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "localhost6"}
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a task listens; an IPv6 host stands here without its brackets."""

    host: str
    port: int
    has_blanks: bool = False  # around it, or before the port: TensorFlow takes them

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Complaint(StrEnum):
    """What is wrong with an address, in words that follow it in a sentence."""

    EMPTY = "is empty"
    CONTROL_CHARACTER = "contains a character that cannot be printed"
    SCHEME = "begins with a scheme; only host:port belongs there"
    PATH = "has a path; only host:port belongs there"
    BLANK_INSIDE = "has a blank inside"
    NO_PORT = "has no port"
    NO_HOST = "has no host"
    PORT_NOT_A_NUMBER = "has a port that is not a number"
    PORT_OUT_OF_RANGE = "has a port outside 1 to 65535"
    IPV6_WITHOUT_BRACKETS = "is an IPv6 address without brackets: write [address]:port"
    BRACKETS = "has brackets around something that is not an IPv6 address"
    COLONS = "has more than one colon"
    HOST_NAME = "has a host name with characters that no host name has"
    HOST_TOO_LONG = "has a host name of more than 253 characters"
    NOT_AN_IP = "has four numbers for a host, and they are not an IP address"


@lru_cache(maxsize=_REMEMBERED_MAX)
def parse_address(text: str) -> Address | Complaint:
    """The host and the port of an address as a cluster definition has it."""
    bare = text.strip(" \t\r\n")
    wrong = _whole(bare)
    if wrong is not None:
        return wrong
    host, port = _split(bare)
    if isinstance(host, Complaint):
        return host
    number = _port(port.strip())
    if isinstance(number, Complaint):
        return number
    return Address(host, number, has_blanks=any(map(str.isspace, text)))


@lru_cache(maxsize=_REMEMBERED_MAX)
def normalised(text: str) -> str:
    """The address in one spelling, so that two texts for one place are equal."""
    found = parse_address(text)
    if isinstance(found, Complaint):
        return text.strip().lower()
    return str(Address(found.host.lower().removesuffix("."), found.port))


@lru_cache(maxsize=_REMEMBERED_MAX)
def is_loopback(host: str) -> bool:
    """Whether a host means, on every machine, that machine itself."""
    number = _ip(host)
    if number is None:
        return host.lower().removesuffix(".") in _LOOPBACK_NAMES
    return number.is_loopback


@lru_cache(maxsize=_REMEMBERED_MAX)
def is_unspecified(host: str) -> bool:
    """Whether a host is good to listen on, and nobody can connect to it: 0.0.0.0 and ::."""
    number = _ip(host)
    return number is not None and number.is_unspecified


def _ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        number = ip_address(host.strip("[]"))
    except ValueError:
        return None
    mapped = number.ipv4_mapped if isinstance(number, IPv6Address) else None
    return mapped or number


def _whole(bare: str) -> Complaint | None:
    """What is wrong with the text before one can tell its host from its port."""
    if not bare:
        return Complaint.EMPTY
    if not bare.isprintable():
        return Complaint.CONTROL_CHARACTER
    if "://" in bare:
        return Complaint.SCHEME
    if "/" in bare or "\\" in bare:
        return Complaint.PATH
    return None


def _split(bare: str) -> tuple[str | Complaint, str]:
    if bare.startswith("["):
        return _split_brackets(bare)
    host, _, port = bare.rpartition(":")
    if ":" in host:
        # ::1:2222 is a whole IPv6 address, too: nobody can say where its port begins.
        whole = isinstance(_ip(bare), IPv6Address) or isinstance(_ip(host), IPv6Address)
        return (Complaint.IPV6_WITHOUT_BRACKETS if whole else Complaint.COLONS), ""
    if not host:
        return (Complaint.NO_HOST if ":" in bare else Complaint.NO_PORT), ""
    return _host(host), port


def _split_brackets(bare: str) -> tuple[str | Complaint, str]:
    host, _, port = bare[1:].partition("]")
    try:
        IPv6Address(host)
    except ValueError:
        return Complaint.BRACKETS, ""
    if port and not port.startswith(":"):
        return Complaint.BRACKETS, ""
    return host, port.removeprefix(":")


def _host(host: str) -> str | Complaint:
    if any(map(str.isspace, host)):
        return Complaint.BLANK_INSIDE
    if len(host) > HOST_LENGTH_MAX:
        return Complaint.HOST_TOO_LONG
    if not all(letter.isalnum() or letter in _PUNCTUATION for letter in host):
        return Complaint.HOST_NAME
    labels = host.split(".")
    numbers = [int(label[:4]) for label in labels if label.isascii() and label.isdigit()]
    if len(labels) == len(numbers) == 4 and max(numbers) > 255:  # noqa: PLR2004 - IPv4 itself
        return Complaint.NOT_AN_IP
    return host


def _port(text: str) -> int | Complaint:
    if not text:
        return Complaint.NO_PORT
    if not (text.isascii() and text.isdigit()):
        return Complaint.PORT_NOT_A_NUMBER
    digits = text.lstrip("0")
    if not 0 < len(digits) <= _PORT_DIGITS_MAX or int(digits) > PORT_MAX:
        return Complaint.PORT_OUT_OF_RANGE
    return int(digits)
