"""Rows on a real HDFS, by hdfs:// and by webhdfs://: `make test-hdfs`, not `make test`.

What holds for an object store must hold here, too: most of these are the tests for S3.
"""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.rows.remote.test_remote import (  # noqa: F401 - run here once more
    found,
    left,
    opened,
    test_a_full_spool_stops_appending_and_says_why,
    test_a_killed_writer_s_rows_are_uploaded_by_the_next_once,
    test_a_program_that_forgets_to_close_uploads_at_its_end,
    test_a_segment_that_was_changed_or_removed_there_is_told,
    test_an_open_log_is_uploaded_in_time,
    test_killed_between_upload_and_manifest_or_removal_nothing_is_doubled,
    test_other_content_under_our_name_is_left_and_ours_stays,
    test_remote_acknowledgement_means_that_the_store_has_it,
    test_segments_appear_whole_and_plain_h5py_reads_them,
    test_what_a_closed_bucket_refuses_waits_and_the_error_says_where,
)
from tests.rows.remote.test_store import (  # noqa: F401
    test_a_file_is_created_once_and_stays_as_it_is,
    test_a_forbidden_bucket_is_said,
    test_of_many_who_create_one_file_at_once_one_has_done_it,
    test_probing_marks_a_directory_and_may_be_repeated,
)

from holdfast import rows
from holdfast.cli.rows import export, fetch
from holdfast.rows.errors import Unwritable
from holdfast.rows.uploading import upload_spool


def test_a_name_node_that_is_killed_loses_nothing(bucket: Any, tmp_path: Path) -> None:
    with opened(bucket, tmp_path / "spool") as writer:
        writer.append("x", np.full((5, 4), 1, "f4"))
    writer = opened(bucket, tmp_path / "spool", wait_s=1)
    bucket.hdfs.kill("name")
    try:
        writer.append("x", np.full((5, 4), 2, "f4"))
        with pytest.raises(Unwritable, match="not yet in"):
            writer.close()
        assert left(tmp_path / "spool")
        with pytest.raises(Unwritable, match="127"):
            opened(bucket, tmp_path / "other")
    finally:
        bucket.hdfs.start("name")
        bucket.hdfs.wait_until_it_writes()
    while left(tmp_path / "spool"):  # the writer's own thread may still be at its last try
        list(upload_spool(tmp_path / "spool", bucket.options))
    assert found(bucket, tmp_path / "here") == [1.0] * 5 + [2.0] * 5


def test_safe_mode_is_said(bucket: Any, tmp_path: Path) -> None:
    with opened(bucket, tmp_path / "spool") as writer:
        writer.append("x", np.ones((5, 4), "f4"))
    bucket.hdfs.kill("data")
    bucket.hdfs.kill("name")
    try:
        bucket.hdfs.start("name")  # nobody tells it where its blocks are
        bucket.hdfs.wait_until_it_answers()
        with pytest.raises(Unwritable, match=r"is in safe mode.*wait until it leaves"):
            opened(bucket, tmp_path / "other", task="worker:1")
    finally:
        bucket.hdfs.start("data")
        bucket.hdfs.wait_until_it_writes()


def test_without_a_data_node_rows_wait_until_there_is_one(bucket: Any, tmp_path: Path) -> None:
    writer = opened(bucket, tmp_path / "spool", wait_s=1)
    bucket.hdfs.kill("data")
    try:
        writer.append("x", np.full((5, 4), 3, "f4"))
        with pytest.raises(Unwritable, match="not yet in"):
            writer.close()
    finally:
        bucket.hdfs.start("data")
        bucket.hdfs.wait_until_it_writes()
    with contextlib.closing(opened(bucket, tmp_path / "spool")):
        pass
    assert left(tmp_path / "spool") == []
    assert found(bucket, tmp_path / "here") == [3.0] * 5


def test_readers_and_commands_take_the_url_itself(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with opened(bucket, tmp_path / "spool") as writer:
        writer.append("metrics/loss", np.arange(3, dtype="f4"))
    asked = {"storage_options": bucket.options}
    assert [
        float(x) for some in rows.arrays(bucket.url, "metrics/loss", **asked) for x in some
    ] == [
        0.0,
        1.0,
        2.0,
    ]
    ask = CliRunner()
    done = ask.invoke(fetch.command, [bucket.url, "-o", str(tmp_path / "here")])
    assert done.output == f"{tmp_path / 'here'}\n"
    done = ask.invoke(export.command, [str(tmp_path / "here"), "-o", str(tmp_path / "out")])
    assert "3 rows of metrics/loss" in done.output
