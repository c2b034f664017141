"""Both stores of the journal: one writer, many readers, nothing lost, nothing leaked."""

import os
import sqlite3
import subprocess
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.logdir import journal_sqlite_read
from holdfast.logdir.journal import follow_journal, open_journal, read_journal
from holdfast.logdir.journal_carve import last_commits
from holdfast.logdir.run_dir import RunDir, create_run_dir, open_run_dir
from holdfast.model.codec import encode
from holdfast.model.errors import BadInput, MissingInput, NotOurs, StorageFailed
from holdfast.model.facts import Fact, TaskExited, TimePassed, UnknownFact

SomeFacts = Callable[[int], list[Fact]]
StartWriter = Callable[[Path, str], "subprocess.Popen[str]"]
SEGMENTS_AND_DATABASE = pytest.mark.parametrize("shared", [False, True])


@SEGMENTS_AND_DATABASE
def test_what_is_appended_is_read_in_order(
    run_dir: RunDir, some_facts: SomeFacts, *, shared: bool
) -> None:
    facts = some_facts(100)
    with open_journal(run_dir, shared=shared) as journal:
        journal.append(*facts[:60])
        journal.append(facts[60])
        journal.append()
        journal.append(*facts[61:])
        assert journal.size() == 100
        assert read_journal(run_dir).facts == tuple(facts)
    replay = read_journal(run_dir)
    assert (replay.facts, replay.skipped, replay.why_skipped) == (tuple(facts), 0, "")


@SEGMENTS_AND_DATABASE
def test_a_second_writer_is_refused_until_the_first_has_closed(
    run_dir: RunDir, some_facts: SomeFacts, *, shared: bool
) -> None:
    first, second = some_facts(2)
    with open_journal(run_dir, shared=shared) as journal:
        journal.append(first)
        with pytest.raises(NotOurs, match="another process writes"):
            open_journal(run_dir, shared=shared)
        with pytest.raises(NotOurs):
            open_journal(run_dir, shared=not shared)
    journal.close()
    with open_journal(run_dir, shared=not shared) as journal:
        assert journal.size() == 1
        journal.append(second)
    assert read_journal(run_dir).facts == (first, second)


def test_a_second_writer_in_another_process_is_refused(
    run_dir: RunDir, start_writer: StartWriter, store: str
) -> None:
    writer = start_writer(run_dir.path, store)
    assert writer.stdout
    assert writer.stdout.readline() == "1\n"
    with pytest.raises(NotOurs):
        open_journal(run_dir)


@SEGMENTS_AND_DATABASE
def test_the_journal_is_private_whatever_the_umask(
    run_dir: RunDir, some_facts: SomeFacts, umask: Callable[[int], int], *, shared: bool
) -> None:
    umask(0)
    with open_journal(run_dir, shared=shared) as journal:
        journal.append(*some_facts(3))
        for found in run_dir.path.rglob("*"):
            assert found.stat().st_mode & 0o777 == (0o700 if found.is_dir() else 0o600), found


@pytest.mark.parametrize("kind", ["symlink", "dangling", "hardlink", "fifo"])
@pytest.mark.parametrize(
    ("name", "shared"),
    [
        *((name, False) for name in ("journal.db", "journal.db-wal", "journal.db-shm")),
        *((name, shared) for name in ("journal.lock", "journal") for shared in (False, True)),
    ],
)
def test_nothing_planted_at_the_journals_names_is_written_through(
    run_dir: RunDir, tmp_path: Path, kind: str, name: str, *, shared: bool
) -> None:
    victim, planted = tmp_path / "victim", run_dir.path / name
    victim.write_bytes(b"")
    match kind:
        case "symlink":
            planted.symlink_to(victim)
        case "dangling":
            planted.symlink_to(tmp_path / "nowhere")
        case "hardlink":
            planted.hardlink_to(victim)
        case _:
            os.mkfifo(planted)
    with pytest.raises(NotOurs):
        open_journal(run_dir, shared=shared)
    assert victim.read_bytes() == b""
    assert not (tmp_path / "nowhere").exists()


def test_a_planted_segment_is_refused_when_its_turn_comes(
    run_dir: RunDir, tmp_path: Path, some_facts: SomeFacts
) -> None:
    fact = some_facts(1)[0]
    with open_journal(run_dir, shared=True) as journal:
        journal.append(fact)
        (run_dir.path / "journal" / "000002.seg").symlink_to(tmp_path / "nowhere")
        with pytest.raises(NotOurs, match=r"000002\.seg"):
            journal.append(UnknownFact(at_s=1.0, host="h", kind="x" * (17 << 20)))
        journal.append(fact)
    assert not (tmp_path / "nowhere").exists()


def test_a_foreign_log_is_not_played_into_a_new_database(run_dir: RunDir) -> None:
    (run_dir.path / "journal.db-wal").write_bytes(b"planted")
    with pytest.raises(NotOurs, match=r"journal\.db-wal"):
        open_journal(run_dir, shared=False)
    assert not (run_dir.path / "journal.db").exists()


def test_somebody_elses_database_is_left_alone(run_dir: RunDir) -> None:
    with closing(sqlite3.connect(run_dir.path / "journal.db")) as theirs:
        theirs.execute("CREATE TABLE facts(seq INTEGER PRIMARY KEY, crc, record)")
    before = (run_dir.path / "journal.db").read_bytes()
    with pytest.raises(NotOurs, match="not our database"):
        open_journal(run_dir)
    assert (run_dir.path / "journal.db").read_bytes() == before


def test_a_view_that_pretends_to_be_our_table_is_not_asked(run_dir: RunDir) -> None:
    with closing(sqlite3.connect(run_dir.path / "journal.db")) as theirs:
        theirs.execute(
            "CREATE VIEW facts AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1"
            " FROM n) SELECT seq, 0 AS crc, x'00' AS record FROM n"
        )
    assert read_journal(run_dir).facts == ()
    assert follow_journal(run_dir).fresh() == ()


def test_without_a_journal_reading_says_so(run_dir: RunDir) -> None:
    with pytest.raises(MissingInput, match="no journal"):
        read_journal(run_dir)


def test_a_journal_that_is_a_link_or_a_pipe_is_not_read(run_dir: RunDir, tmp_path: Path) -> None:
    place = run_dir.path / "journal.db"
    place.symlink_to(tmp_path)
    with pytest.raises(BadInput):
        read_journal(run_dir)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(BadInput):
        read_journal(run_dir)


def test_a_very_long_path_gets_segments_because_sqlite_cannot_open_it(
    tmp_path: Path, some_facts: SomeFacts
) -> None:
    path = tmp_path.joinpath(*["d" * 200] * 4)
    with create_run_dir(path) as run_dir:
        with open_journal(run_dir, shared=False) as journal:
            journal.append(*some_facts(2))
        assert len(read_journal(run_dir).facts) == 2


@pytest.mark.parametrize("name", ["a b?c#d%20&mode=memory", "\udcff\udcfe"])
def test_any_name_will_do_for_the_directory(
    tmp_path: Path, some_facts: SomeFacts, name: str
) -> None:
    with create_run_dir(tmp_path / name) as run_dir:
        with open_journal(run_dir, shared=False) as journal:
            journal.append(*some_facts(2))
        assert (run_dir.path / "journal.db").exists()
        assert len(read_journal(run_dir).facts) == 2


def test_a_finished_database_is_one_plain_file(run_dir: RunDir, some_facts: SomeFacts) -> None:
    with open_journal(run_dir, shared=False) as journal:
        journal.append(*some_facts(5))
    names = {found.name for found in run_dir.path.iterdir()}
    assert names == {"run.json", "logs", "journal.db", "journal.lock"}
    # SQLite's file format: 1 means that no write-ahead log is needed to read it.
    assert (run_dir.path / "journal.db").read_bytes()[18:20] == b"\x01\x01"


def test_the_write_ahead_log_stays_short(run_dir: RunDir) -> None:
    sizes = []
    fact = UnknownFact(at_s=1.0, host="h", kind="Big", extra={"text": "x" * 1_000_000})
    with open_journal(run_dir, shared=False) as journal, follow_journal(run_dir) as follower:
        for _ in range(60):
            journal.append(fact)
            assert follower.fresh() == (fact,)
            sizes.append((run_dir.path / "journal.db-wal").stat().st_size)
    assert max(sizes) < 20 << 20
    assert len(read_journal(run_dir).facts) == 60


def test_segments_are_rotated_and_read_in_order(run_dir: RunDir) -> None:
    facts = [
        UnknownFact(at_s=float(n), host="h", kind="Big", extra={"text": "x" * 3_000_000})
        for n in range(12)
    ]
    with open_journal(run_dir, shared=True) as journal, follow_journal(run_dir) as follower:
        for fact in facts:
            journal.append(fact)
            assert follower.fresh() == (fact,)
    segments = sorted(found.name for found in (run_dir.path / "journal").iterdir())
    assert segments == ["000001.seg", "000002.seg", "000003.seg"]
    assert read_journal(run_dir).facts == tuple(facts)


@SEGMENTS_AND_DATABASE
def test_a_follower_sees_each_fact_once(
    run_dir: RunDir, some_facts: SomeFacts, *, shared: bool
) -> None:
    facts = some_facts(9)
    with follow_journal(run_dir) as follower:
        assert follower.fresh() == ()
        with open_journal(run_dir, shared=shared) as journal:
            assert follower.fresh() == ()
            journal.append(*facts[:4])
            assert follower.fresh() == tuple(facts[:4])
            assert follower.fresh() == ()
            journal.append(facts[4])
        assert follower.fresh() == (facts[4],)
        with open_journal(run_dir, shared=shared) as journal:
            journal.append(*facts[5:])
            assert follower.fresh() == tuple(facts[5:])
        assert follower.fresh() == ()
        assert (follower.skipped, follower.why_skipped) == (0, "")


def test_readers_keep_up_with_a_writer_in_another_process(
    run_dir: RunDir, start_writer: StartWriter, store: str
) -> None:
    writer = start_writer(run_dir.path, store)
    assert writer.stdout
    seen: list[Fact] = []
    with open_run_dir(run_dir.path) as theirs, follow_journal(theirs) as follower:
        for _ in range(300):
            acknowledged = int(writer.stdout.readline())
            seen += follower.fresh()
            assert len(seen) >= acknowledged
        replay = read_journal(theirs)
    assert (replay.skipped, replay.why_skipped) == (0, "")
    assert list(replay.facts[: len(seen)]) == seen
    assert [fact.at_s for fact in seen] == [float(n) for n in range(1, len(seen) + 1)]


def test_pages_whose_writer_lost_its_core_before_their_index_are_no_damage(
    run_dir: RunDir, some_facts: SomeFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stand in the log already, and no reader sees them before the writer goes on."""
    first, second = some_facts(2)
    with create_run_dir(tmp_path / "ahead") as ahead, open_journal(ahead, shared=False) as journal:
        journal.append(first, second)
        pages = last_commits(ahead, "journal.db-wal")
    monkeypatch.setattr(journal_sqlite_read, "last_commits", lambda *_: pages)
    with open_journal(run_dir, shared=False) as journal:
        journal.append(first)
        monkeypatch.setattr("time.sleep", lambda _: journal.append(second))
        replay = read_journal(run_dir)
    assert (replay.facts, replay.skipped, replay.why_skipped) == ((first, second), 0, "")


@SEGMENTS_AND_DATABASE
def test_records_of_a_newer_or_broken_writer_are_kept_or_counted(
    run_dir: RunDir, *, shared: bool
) -> None:
    newer = UnknownFact(at_s=1.0, host="h", kind="FromTheFuture", extra={"colour": "blue"})
    with open_journal(run_dir, shared=shared) as journal:
        journal.append(newer, TimePassed(at_s=2.0, host="h"))
    wrong = [b"not json", b'{"fact":"TaskExited"}', b'{"fact":"TimePassed","task":5}', b"[]", b""]
    add_raw(run_dir, wrong, shared=shared)
    replay = read_journal(run_dir)
    assert replay.facts == (newer, TimePassed(at_s=2.0, host="h"))
    assert replay.skipped == len(wrong)
    assert "cannot be understood" in replay.why_skipped
    with follow_journal(run_dir) as follower:
        assert follower.fresh() == replay.facts
        assert follower.skipped == len(wrong)


def add_raw(run_dir: RunDir, records: list[bytes], *, shared: bool) -> None:
    if shared:
        with (run_dir.path / "journal" / "000001.seg").open("ab") as file:
            file.writelines(b"%08x %s\n" % (zlib.crc32(record), record) for record in records)
        return
    with closing(sqlite3.connect(run_dir.path / "journal.db")) as database, database:
        rows = [(zlib.crc32(record), record) for record in records]
        database.executemany("INSERT INTO facts(crc, record) VALUES (?, ?)", rows)


@SEGMENTS_AND_DATABASE
def test_a_full_disk_is_told_and_costs_nothing_that_was_acknowledged(
    tmpfs: Callable[[str], Path], *, shared: bool
) -> None:
    appended = []
    with create_run_dir(tmpfs("size=3m") / "run") as run_dir:
        with open_journal(run_dir, shared=shared) as journal:
            with pytest.raises(StorageFailed, match="journal"):  # noqa: PT012 - until it happens
                for n in range(1000):
                    pair = [TaskExited(at_s=float(n + half), host="h" * 9000) for half in (0, 0.5)]
                    journal.append(*pair)
                    appended += pair
            assert journal.size() == len(appended) > 100
            assert list(read_journal(run_dir).facts) == appended
        assert list(read_journal(run_dir).facts) == appended


@SEGMENTS_AND_DATABASE
def test_reading_needs_no_right_to_write(
    tmpfs: Callable[[str], Path], some_facts: SomeFacts, *, shared: bool
) -> None:
    disk = tmpfs("size=8m")
    facts = tuple(some_facts(20))
    with create_run_dir(disk / "run") as run_dir, open_journal(run_dir, shared=shared) as journal:
        journal.append(*facts)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with RunDir(disk / "run", os.open(disk / "run", os.O_RDONLY)) as run_dir:
        assert read_journal(run_dir).facts == facts
        with follow_journal(run_dir) as follower:
            assert follower.fresh() == facts


def test_encoding_is_what_the_table_holds(run_dir: RunDir, some_facts: SomeFacts) -> None:
    fact = some_facts(1)[0]
    with open_journal(run_dir, shared=False) as journal:
        journal.append(fact)
    with closing(sqlite3.connect(run_dir.path / "journal.db")) as database:
        rows = database.execute("SELECT seq, crc, record FROM facts").fetchall()
    assert rows == [(1, zlib.crc32(encode(fact)), encode(fact))]
