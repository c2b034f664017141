"""Every situation that `bench.situations` plays at length has a short version among the tests."""

import ast
from pathlib import Path

import pytest
from bench.situations.__main__ import situations
from tests.situations.conftest import ROOT

HANGS = "tests/situations/test_hangs.py"
SILENT = f"{HANGS}::test_who_falls_silent_is_told_with_its_line_and_who_waits_for_it"
LOGGED = "tests/situations/test_logged.py::test_what_a_program_logged_for_itself_is_told"
SCARCE = "tests/situations/test_scarce.py"
FILES = "tests/situations/test_data.py"
FOLDER = f"{FILES}::test_two_workers_that_write_into_one_folder_are_told"
STARTED = "tests/situations/test_processes.py"
STRIKES = "tests/cluster/test_strikes.py::test_a_struck_job_accuses_the_right_task"
FAILURES = "tests/cluster/test_failures.py"
HOSTS = "tests/cluster/test_hosts.py"
STARTUP = "tests/cluster/test_startup.py"
MERGE = "tests/rows/merging/test_merge_files.py"
GUARD = (
    "tests/rows/test_guard_files.py::"
    "test_many_who_open_and_close_one_file_all_the_time_do_not_damage_it"
)
# A test, as `file::function`; or journals, most of them cut from a run of the situation, where it
# takes TensorFlow in several tasks and a minute: tests/pure/test_causes.py judges them again.
SHORTEST = {
    "A1-computes": STRIKES,
    "A1-sleeps": SILENT,
    "A1-child": SILENT,
    "A1-lock": SILENT,
    "A1-file": SILENT,
    "A1-socket": SILENT,
    "A1-stopped": STRIKES,
    "A2-memory": f"{FAILURES}::test_a_parameter_server_killed_by_its_memory_limit",
    "A2-files": f"{SCARCE}::test_open_files",
    "A2-disk": f"{SCARCE}::test_disk",
    "A3-dies": f"{STARTED}::test_an_error_of_an_op_is_told_with_its_line",
    "A3-brought-back": "tests/run/test_recovery.py"
    "::test_a_job_that_was_killed_once_is_relaunched_and_finishes",
    "A3-guarded": "tests/in_task/test_guard.py::test_what_passes_is_tried_again_within_a_budget",
    "A4-goes-on": LOGGED,
    "A4-ends": LOGGED,
    "A5-threads": STRIKES,
    "A5-tasks": f"{HANGS}::test_two_tasks_that_wait_for_each_others_locks_are_told_as_a_circle",
    "B1-files": f"{STARTUP}::test_a_fault_in_the_definitions_is_found_before_the_start",
    "B1-tf-config": f"{STARTUP}::test_who_looks_from_outside_sees_who_is_missing_and_why",
    "B1-code": "tests/causes/wrong-port.md",
    "B1-code-2.15": "tests/causes/wrong-port.md",
    "B2-5-s": f"{HOSTS}::test_a_cut_that_heals_accuses_nobody",
    "B2-60-s": "tests/causes/filtered.md",
    "B2-for-ever": f"{HOSTS}::test_a_filtered_port_is_told_while_it_blocks_and_as_the_cause",
    "B3-server": f"{FAILURES}::test_a_parameter_server_killed_by_its_memory_limit",
    "B4-mirrored": "tests/causes/mirrored-beside-ps.md",
    "B4-no-chief": "tests/causes/no-chief.md",
    "B5-graph": "tests/cluster/test_agree.py"
    "::test_a_task_that_has_built_another_model_is_named_before_anybody_trains",
    "B5-data": STRIKES,
    "C1-merge": f"{MERGE}::test_the_command_says_in_which_order",
    "C1-type-differs": f"{MERGE}"
    "::test_files_that_do_not_fit_are_refused_with_the_difference_before_anything_is_written",
    "C1-crashed": f"{FILES}"
    "::test_a_file_that_was_never_closed_is_refused_by_name_and_the_others_are_merged",
    "C2-central-killed": "tests/rows/central/test_compactor.py"
    "::test_whoever_is_killed_nothing_acknowledged_is_lost_or_doubled",
    "C2-queue-killed": f"{FILES}"
    "::test_the_writer_of_a_queue_that_was_killed_is_told_with_who_waits_for_it",
    "C3-guarded": GUARD,
    "C3-guarded-no-locks": GUARD,
    "C3-locks-on": f"{FILES}::test_a_second_writer_that_hdf5_refuses_is_told_with_the_file",
    "C3-locks-off": "tests/causes/hdf5-two-writers.md",
    "C4-summaries": FOLDER,
    "C4-checkpoints": FOLDER,
    "D1-pipe-full": f"{STARTED}"
    "::test_a_pipe_that_nobody_reads_is_told_with_both_processes_the_line_and_the_fix",
    "D1-run-process": "tests/run/test_own_process.py::test_a_flood_on_both_streams_needs_no_reader",
    "D2-flood": "tests/run/test_stopped_terminal.py"
    "::test_a_stopped_terminal_costs_lines_on_the_screen_only",
    "D2-grandchild": "tests/run/test_tree.py::test_whatever_a_task_leaves_behind_is_ended",
    "E1-launcher": f"{STARTED}"
    "::test_both_children_that_die_of_what_is_no_json_are_told_though_their_launcher_ends_with_0",
    "E2-overloaded": "tests/causes/step-timed-out.md",
    "E2-too-small": "tests/causes/allocation-failed.md",
    "E3-dtype": "tests/causes/variable-mismatch.md",
    "E3-shape": "tests/causes/variable-mismatch.md",
    "E3-version": "tests/causes/version-differs.md",
}


def test_every_situation_has_its_shortest_version() -> None:
    assert SHORTEST.keys() == {one.name for one in situations()}


@pytest.mark.parametrize("place", sorted(set(SHORTEST.values())))
def test_each_of_them_is_there(place: str) -> None:
    file, _, function = place.partition("::")
    assert (ROOT / file).is_file()
    assert bool(function) == file.endswith(".py"), "a file of tests has many: which one?"
    assert not function or function in functions_of(ROOT / file)


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
