"""Known noise of libraries is folded; a program's own words are shown unless asked otherwise."""

from pathlib import Path

import pytest

from holdfast.model.line_choice import (
    LEVEL,
    NOISE,
    SHOW_ALL,
    TENSORFLOW,
    ChosenLines,
    LineChoice,
)
from holdfast.model.noise import is_noise

LINES = Path(__file__).parent.parent / "noise"
HARMLESS = (LINES / "harmless.log").read_text().splitlines()
TELLING = (LINES / "telling.log").read_text().splitlines()
# Cut from the log of a task: what TensorFlow 2.20 says before its first step.
START = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "I0000 00:00:1794998133.588082    5352 port.cc:153] oneDNN custom operations are on. You may",
    "I0000 00:00:1794998134.2 5352 cpu_feature_guard.cc:227] This TensorFlow binary is optimized",
    (
        "To enable the following instructions: FMA, in other operations, rebuild TensorFlow with"
        " the appropriate compiler flags."
    ),
)
SERVER = "I0000 00:00:1794998191.186098    5352 grpc_server_lib.cc:467] Started server with target"
FAILED = "E0000 00:00:1794998191.186098    5352 grpc_server_lib.cc:467] Unknown: no server"
STEP = "INFO:tensorflow:loss = 0.25, step = 300 (2.1 sec)"
OLDER = "2023-01-02 10:00:00.123456: W tensorflow/core/data/x.cc:12] a dataset is slow"
# Words that are noise in a record of a library, in a program's own line.
OWN = (
    "No GPU found, falling back to CPU",
    "worker 3: failed to send metrics: timed out",
    "/home/user/train.py:516: FutureWarning: Passing (type, 1) or '1type' as a synonym",
    "Waiting for new checkpoint at /home/user/ckpt",
    "I think that oneDNN custom operations are on",
    "loss: 0.25",
    "",
)


def why(line: str, *, show: str = "info", quiet: bool = False) -> str:
    return ChosenLines(LineChoice(show, quiet)).why_hidden(line)


@pytest.mark.parametrize("line", START)
def test_noise_of_tensorflow_is_folded_unless_all_is_wanted(line: str) -> None:
    assert why(line) == NOISE
    assert why(line, show=SHOW_ALL) == ""


@pytest.mark.parametrize("line", [*OWN, *TELLING, SERVER, FAILED, STEP, OLDER])
def test_nothing_else_is_left_out_without_being_asked_for(line: str) -> None:
    assert why(line) == ""


@pytest.mark.parametrize("line", HARMLESS)
def test_only_what_diagnose_knows_as_noise_is_folded(line: str) -> None:
    assert is_noise(line), "then both say the same of it"
    assert why(line) in {NOISE, ""}


def test_records_of_other_libraries_are_folded_too() -> None:
    folded = [line for line in HARMLESS if why(line)]
    assert any("NCCL INFO" in line for line in folded)
    assert any("[c10d]" in line for line in folded)
    assert any("jax._src" in line for line in folded)


@pytest.mark.parametrize(
    ("show", "shown"),
    [("all", "IWEF-"), ("info", "IWEF-"), ("warning", "WEF-"), ("error", "EF-")],
)
def test_a_level_hides_what_says_of_itself_that_it_is_less(show: str, shown: str) -> None:
    lines = {
        "I": "INFO:root:reading rows",
        "W": "2026-11-18 10:00:00,123 WARNING the disk is slow",
        "E": "ERROR:train:cannot read a row",
        "F": "CRITICAL:train:nothing can be read",
        "-": "step 3 loss 0.25",
    }
    assert {name: why(line, show=show) for name, line in lines.items()} == {
        name: "" if name in shown else LEVEL for name in lines
    }


def test_quiet_tensorflow_leaves_errors_steps_and_what_is_not_tensorflows() -> None:
    assert [why(line, quiet=True) for line in (SERVER, OLDER)] == [TENSORFLOW, TENSORFLOW]
    for line in (FAILED, STEP, "INFO:root:reading rows", "I1118 10:00:00.1 7 train.py:3] rows"):
        assert why(line, quiet=True) == "", line
    assert why(START[1], quiet=True, show=SHOW_ALL) == TENSORFLOW


def test_settings_that_tensorflow_prints_go_with_the_line_above_them() -> None:
    lines = ChosenLines(LineChoice(quiet_tensorflow=True))
    head = "I0000 00:00:1.5  9424 eager_service_impl.cc:355] SessionOptions: goo.gle/debugstr"
    dump = [head, "device_count {", '  key: "CPU"', "  value: 1", "}", ""]
    assert {lines.why_hidden(line) for line in dump} == {TENSORFLOW}
    assert lines.why_hidden("loss: 0.25") == "", "an empty line ends them"
    assert lines.why_hidden(head) == TENSORFLOW
    assert lines.why_hidden("training begins") == ""
    assert lines.why_hidden("loss: 0.25") == "", "and so does any other"
