"""An address is host and port, or there is a word for what is wrong with it."""

import pytest

from holdfast.model.address import (
    Address,
    Complaint,
    is_loopback,
    is_unspecified,
    normalised,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("host-a:2222", "host-a", 2222),
        ("10.0.0.1:1", "10.0.0.1", 1),
        ("h_1.example.org:065535", "h_1.example.org", 65535),
        ("[2001:db8::1]:2222", "2001:db8::1", 2222),
        ("[fe80::1%eth0]:2222", "fe80::1%eth0", 2222),
        ("bücher:80", "bücher", 80),
    ],
)
def test_reads_what_is_right(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize("text", [" h:1", "h:1\n", "h: 1", "\th:1 "])
def test_takes_blanks_as_tensorflow_does_and_says_so(text: str) -> None:
    assert parse_address(text) == Address("h", 1, has_blanks=True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", Complaint.EMPTY),
        ("  ", Complaint.EMPTY),
        ("h\x1b[2J:1", Complaint.CONTROL_CHARACTER),
        ("grpc://h:1", Complaint.SCHEME),
        ("h:1/x", Complaint.PATH),
        ("..\\h:1", Complaint.PATH),
        ("h a:1", Complaint.BLANK_INSIDE),
        ("h", Complaint.NO_PORT),
        ("h:", Complaint.NO_PORT),
        ("[::1]", Complaint.NO_PORT),
        (":1", Complaint.NO_HOST),
        ("h:http", Complaint.PORT_NOT_A_NUMBER),
        ("h:-1", Complaint.PORT_NOT_A_NUMBER),
        ("h:٣", Complaint.PORT_NOT_A_NUMBER),
        ("h:0", Complaint.PORT_OUT_OF_RANGE),
        ("h:65536", Complaint.PORT_OUT_OF_RANGE),
        ("h:" + "9" * 5000, Complaint.PORT_OUT_OF_RANGE),
        ("::1:2222", Complaint.IPV6_WITHOUT_BRACKETS),
        ("fe80::1", Complaint.IPV6_WITHOUT_BRACKETS),
        ("1:2:3:4:5:6:7:8:2222", Complaint.IPV6_WITHOUT_BRACKETS),
        ("[h]:1", Complaint.BRACKETS),
        ("[::1]1", Complaint.BRACKETS),
        ("h:1:2", Complaint.COLONS),
        ("h*:1", Complaint.HOST_NAME),
        ("h" * 254 + ":1", Complaint.HOST_TOO_LONG),
        ("300.1.1.1:1", Complaint.NOT_AN_IP),
    ],
)
def test_says_what_is_wrong(text: str, complaint: Complaint) -> None:
    assert parse_address(text) is complaint


def test_two_spellings_of_one_place_are_equal() -> None:
    assert normalised(" Host-A.:02222 ") == normalised("host-a:2222") == "host-a:2222"
    assert normalised("[::1]:22") == "[::1]:22"
    assert normalised(" No Address ") == "no address"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.3.2.1", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_knows_what_means_this_very_machine(host: str) -> None:
    assert is_loopback(host)
    assert not is_unspecified(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_knows_what_one_can_only_listen_on(host: str) -> None:
    assert is_unspecified(host)
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["host-a", "10.0.0.1", "localhost.example.org"])
def test_knows_a_real_name(host: str) -> None:
    assert not is_loopback(host)
    assert not is_unspecified(host)
