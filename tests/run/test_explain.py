"""`holdfast explain` tells of every cause, and of what is no cause at all."""

import pytest
from click.testing import CliRunner

from holdfast.cli.explain import command
from holdfast.model.errors import UsageError


def test_noise_is_explained_as_a_cause_is() -> None:
    told = CliRunner().invoke(command, ["noise"])
    assert told.exit_code == 0
    assert "mean nothing" in told.output
    assert "Unable to register cu" in told.output


def test_the_list_of_causes_names_noise() -> None:
    told = CliRunner().invoke(command, [])
    assert told.exit_code == 0
    assert any(line.startswith("  noise ") for line in told.output.splitlines())


def test_deadlines_are_explained_and_listed() -> None:
    told = CliRunner().invoke(command, ["deadlines"])
    assert told.exit_code == 0
    assert "TF_CLUSTER_COORDINATOR_WATCH_DOG_TIMEOUT=20" in told.output
    assert "--round-trip-s 0.05" in told.output
    listed = CliRunner().invoke(command, [])
    assert any(line.startswith("  deadlines ") for line in listed.output.splitlines())
    assert "deadlines" in CliRunner().invoke(command, ["slow-path"]).output


def test_what_a_network_needs_is_told_with_where_the_default_is_wrong() -> None:
    near = CliRunner().invoke(command, ["deadlines", "--round-trip-s", "0.0002"])
    assert near.exit_code == 0
    assert "the default is wrong" not in near.output
    far = CliRunner().invoke(command, ["deadlines", "--round-trip-s", "4"])
    assert "**the default is wrong**: a call may take 4 s" in far.output
    assert "heartbeat_timeout_in_ms=16000" in far.output


@pytest.mark.parametrize(
    "words",
    [["port-conflict", "--round-trip-s", "1"], ["deadlines", "--lost-share", "0.1"]],
)
def test_a_network_without_deadlines_is_refused(words: list[str]) -> None:
    told = CliRunner().invoke(command, words)
    assert isinstance(told.exception, UsageError)
    assert "--round-trip-s" in told.exception.do
