"""What a remote log directory can do: create once, whole, and never change."""

import re
import socket
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.arrow import HadoopFileSystem
from fsspec.registry import _registry

from holdfast.rows.errors import RowsError, Unwritable
from holdfast.rows.store import Store, abilities, shown
from holdfast.rows.store_errors import store_error

# As hdfs-native raises them, with the stack of Hadoop's name node.
FORBIDDEN = (
    'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=writer,'
    ' access=EXECUTE, inode=\\"/locked\\":root:supergroup:drwx------\\n\\tat org.apache.hadoop.hdfs'
    '.server.namenode.FSPermissionChecker.check(FSPermissionChecker.java:661)\\n\\tat org")'
)
SAFE_MODE = (
    'RPCError("org.apache.hadoop.ipc.RetriableException", "org.apache.hadoop.hdfs.server.namenode'
    ".SafeModeException: Cannot create directory /run/rows. Name node is in safe mode.\\nThe"
    " reported blocks 0 needs additional 19 blocks to reach the threshold 0.9990 of total blocks"
    ' 20.\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSNamesystem.newSafemodeException")'
)


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
    bucket.forbid()
    try:
        with pytest.raises(Unwritable, match=r"forbidden.*credentials"):
            store.create("rows/x", b"")
    finally:
        bucket.allow()


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


def test_pyarrow_which_renames_over_files_is_not_let_near_hdfs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(_registry, "hdfs", HadoopFileSystem)
    with pytest.raises(RowsError, match=r"reached by pyarrow.*holdfast\[hdfs\].*webhdfs://"):
        Store("hdfs://127.0.0.1:1/run")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (
            RuntimeError(FORBIDDEN),
            r"write x: forbidden \(.*user=writer.*rwx------\); look at",
        ),
        (RuntimeError(SAFE_MODE), r"in safe mode \(.* total blocks 20\.\); wait until it leaves"),
        (OSError("Connection refused"), r"cannot write x: OSError: Connection refused; .*network"),
        (PermissionError(), r"forbidden \(PermissionError\); look at the credentials"),
        (FileNotFoundError("x"), "no such bucket or folder"),
        (ImportError("no s3fs"), "no s3fs; install the package that fsspec names for s3://"),
    ],
)
def test_what_a_package_raises_is_told_in_our_words(raised: Exception, said: str) -> None:
    told = str(store_error("write", "x", raised, protocol="s3"))
    assert re.search(said, told), told
    assert "FSPermissionChecker" not in told


def test_what_is_unknown_is_taken_to_be_like_s3() -> None:
    assert abilities("s3") == abilities("something-new")
    assert not abilities("something-new").appends
    assert abilities("webhdfs").creates == "by rename"


def test_a_password_is_never_shown() -> None:
    assert shown("ftp://me:secret@host/run?key=secret") == "ftp://host/run"
