"""A journal that was cut or overwritten yields what is left, and says that something is gone."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.logdir.journal import follow_journal, open_journal, read_journal
from holdfast.logdir.replay import Replay
from holdfast.logdir.run_dir import RunDir
from holdfast.model.facts import Fact, LastWords, TimePassed

SomeFacts = Callable[[int], list[Fact]]
PAGE_BYTES = 4096


@pytest.fixture
def database(run_dir: RunDir, some_facts: SomeFacts) -> Path:
    """A finished database of 2000 facts."""
    with open_journal(run_dir, shared=False) as journal:
        for fact in some_facts(2000):
            journal.append(fact)
    return run_dir.path / "journal.db"


@pytest.fixture
def cut_off(run_dir: RunDir, some_facts: SomeFacts, tmp_path: Path) -> RunDir:
    """A database of 500 facts as a kill leaves it: nearly all in the write-ahead log."""
    with open_journal(run_dir, shared=False) as journal:
        for fact in some_facts(500):
            journal.append(fact)
        kept = tmp_path / "kept"
        shutil.copytree(run_dir.path, kept)
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(kept / name, run_dir.path / name)
    return run_dir


def assert_loss_is_told(replay: Replay, whole: list[Fact]) -> None:
    assert len(replay.facts) <= len(whole)
    assert set_of(list(replay.facts)) <= set_of(whole)
    if len(replay.facts) < len(whole):
        assert replay.skipped > 0
        assert replay.why_skipped


def set_of(facts: list[Fact]) -> set[str]:
    return {repr(fact) for fact in facts}


def test_a_segment_cut_anywhere_in_its_last_record_loses_only_that(
    run_dir: RunDir, some_facts: SomeFacts
) -> None:
    facts = some_facts(5)
    with open_journal(run_dir, shared=True) as journal:
        journal.append(*facts)
    segment = run_dir.path / "journal" / "000001.seg"
    whole = segment.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole) + 1):
        segment.write_bytes(whole[:end])
        replay = read_journal(run_dir)
        lost = end < len(whole) - 1  # without its line end, a record is still whole
        assert replay.facts == tuple(facts[:4] if lost else facts)
        assert replay.skipped == (1 if start < end and lost else 0)
        assert bool(replay.why_skipped) == bool(replay.skipped)


def test_a_follower_waits_for_the_rest_of_a_line(run_dir: RunDir, some_facts: SomeFacts) -> None:
    with open_journal(run_dir, shared=True) as journal:
        journal.append(*some_facts(3))
    segment = run_dir.path / "journal" / "000001.seg"
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-10])
    with follow_journal(run_dir) as follower:
        assert len(follower.fresh()) == 2
        assert follower.fresh() == ()
        segment.write_bytes(whole)
        assert len(follower.fresh()) == 1
        assert follower.skipped == 0


def test_a_follower_goes_past_a_line_that_nobody_will_finish(
    run_dir: RunDir, some_facts: SomeFacts
) -> None:
    with open_journal(run_dir, shared=True) as journal:
        journal.append(*some_facts(3))
    segment = run_dir.path / "journal" / "000001.seg"
    segment.write_bytes(segment.read_bytes()[:-10])
    with follow_journal(run_dir) as follower:
        assert len(follower.fresh()) == 2
        with open_journal(run_dir) as journal:
            journal.append(TimePassed(at_s=9.0, host="h"))
        assert follower.fresh() == (TimePassed(at_s=9.0, host="h"),)
        assert follower.skipped == 1


@pytest.mark.parametrize("garbage", [b"\0" * 50, b"\xff\n\xfe\n", b"\n", b"00000000 {}\n"])
def test_garbage_between_segment_lines_hides_no_other_line(
    run_dir: RunDir, some_facts: SomeFacts, garbage: bytes
) -> None:
    facts = some_facts(10)
    with open_journal(run_dir, shared=True) as journal:
        journal.append(*facts)
    segment = run_dir.path / "journal" / "000001.seg"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([*lines[:5], garbage, *lines[5:]]))
    replay = read_journal(run_dir)
    lost = 0 if garbage.endswith(b"\n") else 1
    assert len(replay.facts) == 10 - lost
    assert replay.skipped >= 1


def test_a_missing_or_unreadable_segment_hides_no_other(run_dir: RunDir) -> None:
    facts = [TimePassed(at_s=float(n), host="h") for n in range(3)]
    for fact in facts:
        with open_journal(run_dir, shared=True) as journal:
            journal.append(fact)
    (run_dir.path / "journal" / "000002.seg").unlink()
    assert read_journal(run_dir).facts == (facts[0], facts[2])
    (run_dir.path / "journal" / "000002.seg").mkdir()
    replay = read_journal(run_dir)
    assert replay.facts == (facts[0], facts[2])
    assert replay.skipped == 1
    assert "000002.seg" in replay.why_skipped


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.77, 0.99, 0.9999])
def test_a_database_without_its_end_yields_its_beginning(
    run_dir: RunDir, database: Path, some_facts: SomeFacts, share: float
) -> None:
    whole = database.read_bytes()
    database.write_bytes(whole[: int(len(whole) * share)])
    replay = read_journal(run_dir)
    assert_loss_is_told(replay, some_facts(2000))
    assert len(replay.facts) >= 2000 * (share - 0.05) - 50
    with follow_journal(run_dir) as follower:
        follower.fresh()
        follower.fresh()


@pytest.mark.parametrize("page", [0, 1, 2, 7, 20, -1])
@pytest.mark.parametrize("garbage", [b"\0", b"\xa5", b"\x0d"])
def test_one_bad_page_of_a_database_costs_its_own_facts_only(
    run_dir: RunDir, database: Path, some_facts: SomeFacts, page: int, garbage: bytes
) -> None:
    whole = bytearray(database.read_bytes())
    at = page * PAGE_BYTES % len(whole)
    whole[at : at + PAGE_BYTES] = garbage * PAGE_BYTES
    database.write_bytes(whole)
    replay = read_journal(run_dir)
    assert_loss_is_told(replay, some_facts(2000))
    assert len(replay.facts) >= 2000 - 60
    with follow_journal(run_dir) as follower:
        follower.fresh()


def test_a_flipped_byte_in_a_record_costs_that_record(
    run_dir: RunDir, database: Path, some_facts: SomeFacts
) -> None:
    content = database.read_bytes()
    database.write_bytes(content.replace(b"line 1234 ", b"line 4321 ", 1))
    replay = read_journal(run_dir)
    whole = some_facts(2000)
    assert replay.facts == (*whole[:1233], *whole[1234:])
    assert replay.skipped == 1
    assert "checksum" in replay.why_skipped


@pytest.fixture
def long_records(run_dir: RunDir) -> Path:
    """A finished database of 200 facts that need several pages each."""
    with open_journal(run_dir, shared=False) as journal:
        for n in range(200):
            journal.append(LastWords(at_s=float(n), host="h", lines=("x" * 20_000,)))
    return run_dir.path / "journal.db"


def test_long_records_before_a_missing_end_are_read(run_dir: RunDir, long_records: Path) -> None:
    content = long_records.read_bytes()
    long_records.write_bytes(content[: len(content) // 2])
    replay = read_journal(run_dir)
    assert len(replay.facts) >= 95
    assert replay.skipped >= 1


def test_long_records_behind_the_damage_are_read_from_the_end(
    run_dir: RunDir, long_records: Path
) -> None:
    content = bytearray(long_records.read_bytes())
    middle = len(content) // 2 // PAGE_BYTES * PAGE_BYTES
    content[middle : middle + PAGE_BYTES * 12] = bytes(PAGE_BYTES * 12)
    long_records.write_bytes(content)
    replay = read_journal(run_dir)
    assert 180 < len(replay.facts) < 200
    assert replay.skipped == 200 - len(replay.facts)


def test_no_content_at_all_is_not_taken_for_a_quiet_run(run_dir: RunDir, database: Path) -> None:
    database.write_bytes(b"")
    replay = read_journal(run_dir)
    assert replay.facts == ()
    assert "empty" in replay.why_skipped


def test_a_file_that_is_no_database_is_told(run_dir: RunDir) -> None:
    (run_dir.path / "journal.db").write_bytes(b"hello, world\n" * 1000)
    replay = read_journal(run_dir)
    assert (replay.facts, replay.skipped) == ((), 1)
    assert "not a database" in replay.why_skipped


def test_the_kept_log_of_a_killed_writer_is_read(cut_off: RunDir, some_facts: SomeFacts) -> None:
    replay = read_journal(cut_off)
    assert replay.facts == tuple(some_facts(500))
    assert replay.skipped == 0


@pytest.mark.parametrize("cut_bytes", [1, 24, 4096, 4120, 4121, 100_000, 10**9])
def test_a_log_without_its_end_yields_its_beginning(
    cut_off: RunDir, some_facts: SomeFacts, cut_bytes: int
) -> None:
    wal = cut_off.path / "journal.db-wal"
    content = wal.read_bytes()
    wal.write_bytes(content[: max(0, len(content) - cut_bytes)])
    replay = read_journal(cut_off)
    assert replay.facts == tuple(some_facts(500)[: len(replay.facts)])
    assert len(replay.facts) >= 499 - cut_bytes / 4120
    # Cut exactly between two pages, it looks like the log of a writer killed earlier.
    torn = wal.stat().st_size > 0 and cut_bytes % 4120 != 0
    assert ("may be missing" in replay.why_skipped) == torn


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_log_damaged_in_its_middle_is_told_and_searched(
    cut_off: RunDir, some_facts: SomeFacts, share: float
) -> None:
    wal = cut_off.path / "journal.db-wal"
    content = bytearray(wal.read_bytes())
    at = int(len(content) * share)
    content[at : at + 5000] = b"\xa5" * 5000
    wal.write_bytes(content)
    replay = read_journal(cut_off)
    assert set_of(list(replay.facts)) == set_of(some_facts(500))
    assert replay.skipped >= 1
    assert "journal.db-wal is damaged" in replay.why_skipped
