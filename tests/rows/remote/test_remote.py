"""Log directories in object stores: what is acknowledged arrives, once."""

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from holdfast import rows
from holdfast.cli.rows import export, fetch, upload
from holdfast.model.errors import MissingInput
from holdfast.rows.errors import Damaged, Refused, Unwritable
from holdfast.rows.remote import RemoteWriter
from holdfast.rows.store import Store
from holdfast.rows.uploading import Sent, upload_spool

WRITER = """
import json, sys
import numpy as np
from holdfast import rows
told = json.loads(sys.argv[1])
writer = rows.open(told["url"], task="worker:0", spool=told["spool"], log_bytes_max=20_000,
                   storage_options=told["options"])
for number in range(told["batches"]):
    writer.append("x", np.full((10, 4), number, "f4"))
print("acknowledged", flush=True)
if told["waits"]:
    sys.stdin.read()
"""


def opened(bucket: Any, spool: Path, **settings: Any) -> RemoteWriter:
    settings = {"task": "worker:0", **settings}
    writer = rows.open(bucket.url, spool=spool, storage_options=bucket.options, **settings)
    assert isinstance(writer, RemoteWriter)
    return writer


def found(bucket: Any, folder: Path, name: str = "x") -> list[float]:
    """The first column of all rows that the store has."""
    place = rows.fetch(bucket.url, folder, storage_options=bucket.options)
    return [float(row[0]) for some in rows.arrays(place, name) for row in some]


def left(spool: Path) -> list[str]:
    """Rows that wait on this host."""
    return sorted(path.name for path in spool.rglob("0*") if path.suffix in {".log", ".h5"})


def start(bucket: Any, spool: Path, *, batches: int, waits: bool) -> subprocess.Popen[str]:
    told = {"url": bucket.url, "spool": str(spool), "options": bucket.options}
    told |= {"batches": batches, "waits": waits}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, json.dumps(told)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_when_acknowledged(program: subprocess.Popen[str]) -> None:
    with program:
        assert program.stdout
        assert program.stdout.readline() == "acknowledged\n"
        program.send_signal(signal.SIGKILL)


def test_segments_appear_whole_and_plain_h5py_reads_them(bucket: Any, tmp_path: Path) -> None:
    batch = np.arange(400, dtype="f4").reshape(100, 4)
    for task in ("worker:0", "worker:1", "worker:0"):
        with opened(bucket, tmp_path / "spool", task=task, log_bytes_max=1000) as writer:
            writer.append("x", batch)
            writer.append_many({"x": batch, "said": ["é"] * 3})
    names = sorted(bucket.files.find(bucket.root))
    short = [name.removeprefix(f"{bucket.root}/rows/") for name in names]
    assert "worker-0.0001/000001.h5" in short
    assert "worker-1.0001/source.json" in short
    assert "worker-0.0002/000002.h5" in short
    assert short[0] == "format.json"
    assert sum(name.startswith("manifest-") for name in short) == 6
    assert left(tmp_path / "spool") == []
    with bucket.reads(f"{bucket.url}/rows/worker-1.0001/000001.h5") as file:
        assert np.array_equal(h5py.File(file)["x"], batch)
    assert found(bucket, tmp_path / "here") == [*batch[:, 0]] * 6


def test_a_killed_writer_s_rows_are_uploaded_by_the_next_once(bucket: Any, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    kill_when_acknowledged(start(bucket, spool, batches=25, waits=True))
    assert left(spool)
    opened(bucket, spool).close()
    assert left(spool) == []
    expected = [float(number) for number in range(25) for _ in range(10)]
    assert found(bucket, tmp_path / "here") == expected


def test_a_program_that_forgets_to_close_uploads_at_its_end(bucket: Any, tmp_path: Path) -> None:
    program = start(bucket, tmp_path / "spool", batches=3, waits=False)
    program.communicate()
    assert program.returncode == 0
    assert left(tmp_path / "spool") == []
    assert len(found(bucket, tmp_path / "here")) == 30


def test_killed_between_upload_and_manifest_or_removal_nothing_is_doubled(
    bucket: Any, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    with pytest.raises(Unwritable):
        write_and_fail(bucket, spool)
    bucket.allow()
    folder = next(spool.glob("*/rows/worker-0.0001"))
    rows_only_here = (folder / "000001.h5").read_bytes()
    store = Store(bucket.url, bucket.options)
    assert store.create_from("rows/worker-0.0001/000001.h5", folder / "000001.h5")
    assert [type(one) for one in upload_spool(spool, bucket.options)] == [Sent]
    folder.mkdir(exist_ok=True)
    (folder / "000001.h5").write_bytes(rows_only_here)
    assert [type(one) for one in upload_spool(spool, bucket.options)] == [Sent]
    assert left(spool) == []
    assert found(bucket, tmp_path / "here") == [7.0] * 5


def test_what_a_closed_bucket_refuses_waits_and_the_error_says_where(
    bucket: Any, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    with pytest.raises(Unwritable, match="forbidden") as caught:
        write_and_fail(bucket, spool)
    bucket.allow()
    folder = next(spool.glob("*/rows/worker-0.0001"))
    assert str(folder) in caught.value.do
    assert f"holdfast rows upload {folder.parent.parent}" in caught.value.do
    assert len(list(upload_spool(spool, bucket.options))) == 1
    assert found(bucket, tmp_path / "here") == [7.0] * 5
    assert list(upload_spool(spool, bucket.options)) == []


def test_other_content_under_our_name_is_left_and_ours_stays(bucket: Any, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with pytest.raises(Unwritable):
        write_and_fail(bucket, spool)
    bucket.allow()
    Store(bucket.url, bucket.options).create("rows/worker-0.0001/000001.h5", b"a stranger's")
    (told,) = upload_spool(spool, bucket.options)
    assert isinstance(told, Damaged)
    assert "other content" in told.message
    assert left(spool) == ["000001.h5"]
    assert bucket.files.cat(f"{bucket.url}/rows/worker-0.0001/000001.h5") == b"a stranger's"


def test_remote_acknowledgement_means_that_the_store_has_it(bucket: Any, tmp_path: Path) -> None:
    with opened(bucket, tmp_path / "spool", ack="remote") as writer:
        for number in range(3):
            writer.append("x", np.full((2, 4), number, "f4"))
            assert found(bucket, tmp_path / "here")[-2:] == [number, number]


def test_an_open_log_is_uploaded_in_time(bucket: Any, tmp_path: Path) -> None:
    with opened(bucket, tmp_path / "spool", upload_every_s=0.1) as writer:
        writer.append("x", np.ones((2, 4), "f4"))
        segment = f"{bucket.url}/rows/worker-0.0001/000001.h5"
        while not bucket.files.exists(segment):
            pass


def test_a_full_spool_stops_appending_and_says_why(bucket: Any, tmp_path: Path) -> None:
    writer = opened(
        bucket, tmp_path / "spool", log_bytes_max=1000, spool_bytes_max=20_000, wait_s=0.1
    )
    bucket.forbid()
    taken: list[float] = []
    with pytest.raises(Unwritable, match="is full"):
        append_for_ever(writer, taken)
    with pytest.raises(Unwritable, match="not yet in"):
        writer.close()
    bucket.allow()
    assert list(upload_spool(tmp_path / "spool", bucket.options))
    assert found(bucket, tmp_path / "here") == taken


def test_a_segment_that_was_changed_or_removed_there_is_told(bucket: Any, tmp_path: Path) -> None:
    with opened(bucket, tmp_path / "spool") as writer:
        writer.append("x", np.ones((2, 4), "f4"))
    segment = f"{bucket.url}/rows/worker-0.0001/000001.h5"
    kept = bucket.files.cat(segment)
    bucket.files.pipe(segment, kept[:-1] + b"!")
    with pytest.raises(Damaged, match="not as it was uploaded"):
        found(bucket, tmp_path / "here")
    bucket.files.rm(segment)
    with pytest.raises(Damaged, match="is gone"):
        found(bucket, tmp_path / "here")


def test_a_bucket_that_is_not_there_is_said_at_once(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(Unwritable, match=r"no such bucket.*create it"):
        rows.open(
            "s3://no-such-bucket/run", task="worker:0", spool=tmp_path,
            storage_options=bucket.options,
        )  # fmt: skip


def test_a_file_url_is_a_plain_log_directory(tmp_path: Path) -> None:
    with rows.open(f"file://{tmp_path}/run", task="worker:0") as writer:
        writer.append("x", np.ones((2, 4), "f4"))
    assert [one.shape for one in rows.arrays(tmp_path / "run", "x")] == [(2, 4)]


def test_any_store_of_fsspec_takes_rows(tmp_path: Path) -> None:
    url = f"memory://{uuid.uuid4().hex}/run"
    with rows.open(url, task="worker:0", spool=tmp_path / "spool") as writer:
        assert isinstance(writer, RemoteWriter)
        writer.append("x", np.ones((2, 4), "f4"))
        writer.upload()
        writer.append("x", np.zeros((2, 4), "f4"))
    place = rows.fetch(url, tmp_path / "here")
    assert [one[0, 0] for one in rows.arrays(place, "x", rows_max=2)] == [1, 0]


def test_what_a_remote_directory_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="needs a folder"):
        rows.open("memory://x/run", task="worker:0", way="locked", spool=tmp_path)
    with pytest.raises(Refused, match="no name of a task"):
        rows.open("memory://x/run", task="../x", spool=tmp_path)


def test_a_spool_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool").chmod(0o777)
    with pytest.raises(rows.RowsError, match="only this user"):
        rows.open("memory://x/run", task="worker:0", spool=tmp_path / "spool")


def test_the_commands_fetch_export_and_say_what_is_no_spool(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(bucket, tmp_path / "spool") as writer:
        writer.append("x", np.ones((2, 4), "f4"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    ask = CliRunner()
    done = ask.invoke(fetch.command, [bucket.url, "-o", str(tmp_path / "here")])
    assert done.output == f"{tmp_path / 'here'}\n"
    done = ask.invoke(export.command, [str(tmp_path / "here"), "-o", str(tmp_path / "out")])
    assert done.output == f"{tmp_path / 'out' / 'x.parquet'}: 2 rows of x\n"
    done = ask.invoke(upload.command, [str(tmp_path / "spool")])
    assert (done.output, done.exit_code) == ("", 0)
    with pytest.raises(MissingInput, match="is no spool"):
        ask.invoke(upload.command, [str(tmp_path)], catch_exceptions=False)


def append_for_ever(writer: RemoteWriter, taken: list[float]) -> None:
    for number in range(10_000):
        writer.append("x", np.full((100, 4), number, "f4"))
        taken += [float(number)] * 100


def write_and_fail(bucket: Any, spool: Path) -> None:
    """A store that stops taking rows while they are written."""
    writer = opened(bucket, spool, wait_s=1)
    bucket.forbid()
    writer.append("x", np.full((5, 4), 7, "f4"))
    writer.close()
