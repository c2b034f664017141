"""What a remote log directory can do: create once, whole, and never change."""

import socket
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from holdfast.rows.errors import RowsError, Unwritable
from holdfast.rows.store import Store, abilities, shown


def stores(bucket: Any) -> list[Store]:
    return [Store(bucket.url, bucket.options), Store(f"memory://{uuid.uuid4().hex}/run")]


def test_a_file_is_created_once_and_stays_as_it_is(bucket: Any, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    for store in stores(bucket):
        assert store.create("rows/a/1", b"one")
        assert not store.create("rows/a/1", b"two")
        assert not store.create_from("rows/a/1", tmp_path / "other")
        assert store.read("rows/a/1") == b"one"
        assert store.create_from("rows/b/1", tmp_path / "other")
        assert store.names("rows") == ["a", "b"]
        assert store.bytes_of("rows/b/1") == 5
        assert b"".join(store.pieces("rows/b/1")) == b"other"
        assert store.read("rows/none") is None
        assert store.names("none") == []


def test_of_many_who_create_one_file_at_once_one_has_done_it(bucket: Any) -> None:
    won: list[int] = []
    begin = threading.Barrier(8)

    def create(number: int) -> None:
        store = Store(bucket.url, bucket.options)
        begin.wait()
        if store.create("rows/manifest-000001.json", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = Store(bucket.url, bucket.options).read("rows/manifest-000001.json")
    assert len(won) == 1
    assert found == str(won[0]).encode()


def test_probing_marks_a_directory_and_may_be_repeated(bucket: Any) -> None:
    for store in stores(bucket):
        store.probe("rows/format.json", b"{}")
        store.probe("rows/format.json", b"{}")
        assert store.names("rows") == ["format.json"]


def test_a_store_that_creates_twice_is_refused(bucket: Any) -> None:
    store = Store(bucket.url, bucket.options)
    kept = store._fs.pipe_file
    store._fs.pipe_file = lambda path, content, mode: kept(path, content)
    try:
        with pytest.raises(RowsError, match=r"lets a file be created twice.*If-None-Match"):
            store.probe("rows/format.json", b"{}")
    finally:
        del store._fs.pipe_file


def test_a_bucket_that_is_not_there_is_named_and_not_made(bucket: Any) -> None:
    store = Store("s3://no-such-bucket-here/run", bucket.options)
    with pytest.raises(Unwritable, match=r"s3://no-such-bucket-here/run/rows/x.*no such bucket"):
        store.create("rows/x", b"")
    assert not bucket.files.exists("no-such-bucket-here")


def test_a_forbidden_bucket_is_said(bucket: Any) -> None:
    store = Store(bucket.url, bucket.options)
    bucket.tell("reset-auth", "0")
    try:
        with pytest.raises(Unwritable, match=r"forbidden.*credentials"):
            store.create("rows/x", b"")
    finally:
        bucket.tell("reset-auth", "inf")


def test_an_address_where_nobody_listens_is_said(bucket: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}"
        options = bucket.options | {
            "client_kwargs": {"endpoint_url": endpoint},
            "config_kwargs": {"retries": {"max_attempts": 0}},
        }
        with pytest.raises(Unwritable, match=r"cannot write .*network"):
            Store(bucket.url, options).create("rows/x", b"")


def test_a_protocol_that_nobody_knows_is_said() -> None:
    with pytest.raises(RowsError, match="cannot reach nosuch://x"):
        Store("nosuch://x")


def test_what_is_unknown_is_taken_to_be_like_s3() -> None:
    assert abilities("s3") == abilities("something-new")
    assert not abilities("something-new").appends
    assert abilities("webhdfs").creates == "by rename"


def test_a_password_is_never_shown() -> None:
    assert shown("ftp://me:secret@host/run?key=secret") == "ftp://host/run"
