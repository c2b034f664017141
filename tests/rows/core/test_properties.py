"""Whatever is appended, cut off or damaged: what is read is exactly what is whole."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from holdfast.rows.reading import parts, read_part, sources
from holdfast.rows.reading_log import LogContent
from holdfast.rows.writer import Writer

SCHEMAS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "scalar": ("<f8", ()),
    "wide": ("<f4", (3,)),
    "tensor/deep": ("<i2", (2, 2)),
    "flag": ("|b1", ()),
    "text": ("str", ()),
    "compound": (np.dtype([("a", "<u4"), ("b", "<f2", (2,))]), ()),
}
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
quiet = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def batch_of(name: str) -> st.SearchStrategy[Any]:
    dtype, row_shape = SCHEMAS[name]
    if dtype == "str":
        return st.lists(TEXT, max_size=4).map(lambda texts: np.array(texts, object))
    shapes = st.integers(0, 4).map(lambda rows: (rows, *row_shape))
    return shapes.flatmap(lambda shape: npst.arrays(np.dtype(dtype), shape))


def group() -> st.SearchStrategy[dict[str, Any]]:
    names = st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=1, max_size=3, unique=True)
    return names.flatmap(lambda some: st.fixed_dictionaries({n: batch_of(n) for n in some}))


groups = st.lists(group(), max_size=8)


def write(logdir: Path, made: list[dict[str, Any]], log_bytes_max: int) -> list[int]:
    """Appends the groups; returns how long the log was after each."""
    lengths = []
    with Writer(logdir, task="chief", seal="never", log_bytes_max=log_bytes_max) as writer:
        log = writer.folder / "000001.log"
        for name, (dtype, shape) in SCHEMAS.items():
            writer.dataset(name, dtype=dtype, shape=shape)
        lengths.append(log.stat().st_size)
        for one in made:
            if len(one) == 1:
                ((name, batch),) = one.items()
                writer.append(name, batch)
            else:
                writer.append_many(one)
            lengths.append(log.stat().st_size)
    return lengths


def joined(made: list[dict[str, Any]]) -> dict[str, bytes | list[str]]:
    """All rows by dataset, in a form that equals itself even if it is not a number."""
    found: dict[str, Any] = {}
    for one in made:
        for name, batch in one.items():
            more = batch.tolist() if SCHEMAS[name][0] == "str" else batch.tobytes()
            found[name] = found.get(name, more[:0]) + more
    return {name: all_rows for name, all_rows in found.items() if all_rows}


def read(content: Any) -> list[dict[str, Any]]:
    with content:
        return [{block.dataset.name: content.rows_of(block).copy()} for block in content.blocks]


@quiet
@given(made=groups, log_bytes_max=st.sampled_from([1, 500, 1 << 20]))
def test_any_sequence_of_batches_reads_back_equal(
    made: list[dict[str, Any]], log_bytes_max: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), made, log_bytes_max)
        (source,) = sources(folder)
        found = itertools.chain.from_iterable(read(read_part(part)) for part in parts(source))
        assert joined(list(found)) == joined(made)


@quiet
@given(made=groups, cuts=st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_any_cut_yields_exactly_the_whole_groups_before_it(
    made: list[dict[str, Any]], cuts: list[float]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lengths = write(Path(folder), made, 1 << 30)
        log = Path(folder, "rows", "chief.0001", "000001.log")
        whole = log.read_bytes()
        for cut in {int(cut * len(whole)) for cut in cuts} | set(lengths):
            log.write_bytes(whole[:cut])
            before = sum(length <= cut for length in lengths[1:])
            content = LogContent(log)
            assert joined(read(content)) == joined(made[:before])
            good = content.tail.good_bytes if content.tail else cut
            assert good >= max((length for length in lengths if length <= cut), default=0)


@quiet
@given(made=groups.filter(bool), where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed_and_nothing_wrong_is_read(
    made: list[dict[str, Any]], where: float, bit: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lengths = write(Path(folder), made, 1 << 30)
        log = Path(folder, "rows", "chief.0001", "000001.log")
        damaged = bytearray(log.read_bytes())
        at = int(where * len(damaged))
        damaged[at] ^= 1 << bit
        log.write_bytes(damaged)
        content = LogContent(log)
        assert content.tail is not None
        assert content.tail.good_bytes <= at
        assert content.tail.total_bytes == len(damaged)
        before = sum(length <= at for length in lengths[1:])
        assert joined(read(content)) == joined(made[:before])


@quiet
@given(noise=st.binary(max_size=300))
def test_noise_is_no_log_and_no_crash(tmp_path: Path, noise: bytes) -> None:
    log = tmp_path / "000001.log"
    log.write_bytes(noise)
    content = LogContent(log)
    assert content.blocks == []
    assert content.tail is not None or noise == b""


@pytest.mark.parametrize(
    "extra",
    [b"\0" * 100, b"HFR1" + b"\0" * 36, b"HFR1" + b"\xff" * 60],
    ids=["zeros", "empty frame", "huge frame"],
)
def test_what_lies_behind_the_end_does_not_count(tmp_path: Path, extra: bytes) -> None:
    write(tmp_path, [{"scalar": np.ones(3)}], 1 << 20)
    log = tmp_path / "rows" / "chief.0001" / "000001.log"
    whole = log.read_bytes()
    log.write_bytes(whole + extra)
    content = LogContent(log)
    assert content.tail is not None
    assert content.tail.good_bytes == len(whole)
    assert len(content.blocks) == 1
