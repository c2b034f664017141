"""`holdfast explain` tells of every cause, and of what is no cause at all."""

from click.testing import CliRunner

from holdfast.cli.explain import command


def test_noise_is_explained_as_a_cause_is() -> None:
    told = CliRunner().invoke(command, ["noise"])
    assert told.exit_code == 0
    assert "mean nothing" in told.output
    assert "Unable to register cu" in told.output


def test_the_list_of_causes_names_noise() -> None:
    told = CliRunner().invoke(command, [])
    assert told.exit_code == 0
    assert any(line.startswith("  noise ") for line in told.output.splitlines())
