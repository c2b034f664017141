"""Real clusters that are killed while they train, and come back: a few of `bench.recovering`."""

from pathlib import Path

import pytest
from bench.recovering import bring_back
from bench.recovery_scenarios import QUICK, Case, cases
from bench.written_down import WrittenDown

CHOSEN = [one for one in cases() if one.name in QUICK]
STEP = '{{"at": {at}, "what": "{what}", "step": {step}, "attempt": {attempt}, "pid": {pid}}}\n'


@pytest.mark.cluster
@pytest.mark.parametrize("case", CHOSEN, ids=lambda one: one.name)
def test_a_killed_task_costs_an_interval_and_the_training_comes_to_its_end(
    case: Case, tmp_path: Path
) -> None:
    row = bring_back(case, tmp_path)
    if row.lacks:
        pytest.skip(row.lacks)
    assert not row.complaints, row


def test_the_chosen_cases_are_all_there() -> None:
    assert {one.name for one in CHOSEN} == set(QUICK)


def test_no_two_cases_have_one_name() -> None:
    names = [one.name for one in cases()]
    assert len(names) == len(set(names))


def written_down(folder: Path, *lines: tuple[str, float, str, int, int, int]) -> WrittenDown:
    """Lines as a workload writes them: task, when, what, step, attempt, pid."""
    for task, at, what, step, attempt, pid in lines:
        with (folder / f"{task.replace(':', '-')}.jsonl").open("a") as file:
            file.write(STEP.format(at=at, what=what, step=step, attempt=attempt, pid=pid))
    found = WrittenDown(folder)
    found.look()
    return found


def test_one_who_saves_after_its_successor_is_a_second_writer(tmp_path: Path) -> None:
    notes = written_down(
        tmp_path,
        ("worker:0", 1.0, "saved", 20, 1, 100),
        ("worker:0", 5.0, "saved", 20, 2, 200),
        ("worker:0", 6.0, "saved", 40, 1, 100),
    )
    assert list(notes.second_writers()) == ["pid 100 of attempt 1 of worker:0: saved 40"]
    assert list(notes.saves_out_of_turn()) == [
        "worker:0 of attempt 1 saved step 40 after attempt 2"
    ]


def test_a_restarted_task_whose_old_process_goes_on_is_a_second_writer(tmp_path: Path) -> None:
    notes = written_down(
        tmp_path,
        ("worker:1", 1.0, "step", 20, 1, 100),
        ("worker:1", 5.0, "step", 40, 1, 200),
        ("worker:1", 6.0, "step", 41, 1, 100),
    )
    assert list(notes.second_writers()) == ["pid 100 of attempt 1 of worker:1: step 41"]


def test_one_after_the_other_is_right_and_what_was_under_way_is_known(tmp_path: Path) -> None:
    notes = written_down(
        tmp_path,
        ("worker:0", 1.0, "step", 20, 1, 100),
        ("worker:0", 1.1, "saving", 20, 1, 100),
        ("worker:0", 1.2, "saved", 20, 1, 100),
        ("worker:0", 2.0, "step", 40, 1, 100),
        ("worker:0", 2.1, "saving", 40, 1, 100),
        ("worker:1", 2.2, "step", 43, 1, 101),
        ("worker:0", 9.0, "begins", 20, 2, 200),
        ("worker:0", 9.5, "step", 21, 2, 200),
    )
    assert [*notes.second_writers(), *notes.saves_out_of_turn()] == []
    assert notes.reached(1, 3.0) == 43
    saving_s = notes.unfinished_save_s(1, 3.0)
    assert saving_s == 2.1
    assert notes.reached(1, saving_s) == 40
    assert notes.stood_s(3.0) == pytest.approx(7.3)


def test_half_a_line_is_read_with_its_other_half(tmp_path: Path) -> None:
    whole = STEP.format(at=1.0, what="step", step=1, attempt=1, pid=100)
    place = tmp_path / "worker-0.jsonl"
    place.write_text(whole + whole[:20])
    notes = WrittenDown(tmp_path)
    notes.look()
    assert [line.step for line in notes.lines] == [1]
    place.write_text(whole + whole)
    notes.look()
    assert [line.task for line in notes.lines] == ["worker:0", "worker:0"]
