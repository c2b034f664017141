"""What the live view leaves out is counted, told of when it is quiet, and rarely after that."""

from holdfast.model.line_choice import LEVEL, NOISE, TENSORFLOW, LineChoice
from holdfast.views.folded_lines import AGAIN_S, LATE_S, QUIET_S, FoldedLines
from holdfast.views.sanitise import cells

ONE_DNN = "I0000 00:00:1.5 7 port.cc:153] oneDNN custom operations are on."
ABSL = "WARNING: All log messages before absl::InitializeLog() is called"
BUILD, STARTS = "what this build of TensorFlow could do faster", "a step of a normal start"


def fold(folded: FoldedLines, *, tasks: int = 1, at_s: float = 1.0) -> None:
    for index in range(tasks):
        for text in (ONE_DNN, ABSL, ONE_DNN):
            log = f"logs/worker-{index}.1.err"
            folded.add(NOISE, text, task=f"worker:{index}", log=log, at_s=at_s)


def test_they_are_told_with_their_number_reasons_and_place() -> None:
    folded = FoldedLines(LineChoice())
    fold(folded, tasks=4)
    assert folded.rest(width=160) == (
        f"… 12 lines of known noise from 4 tasks folded: {BUILD}, {STARTS};"
        " in logs/worker-0.1.err and 3 more"
    )
    assert folded.rest(width=160) == "", "once"


def test_one_line_of_a_narrow_terminal_is_enough() -> None:
    told = []
    for width in (160, 80, 60, 40):
        folded = FoldedLines(LineChoice())
        fold(folded, tasks=4)
        told.append(folded.rest(width=width))
        assert cells(told[-1]) <= width
    assert told[1] == (
        "… 12 lines of known noise from 4 tasks folded; in logs/worker-0.1.err and 3 more"
    )
    assert told[2] == "… 12 lines of known noise from 4 tasks folded; in logs/"
    assert told[3] == "… 12 lines from 4 tasks folded; in logs/"


def test_what_somebody_asked_for_is_told_apart_from_noise() -> None:
    folded = FoldedLines(LineChoice("warning", quiet_tensorflow=True))
    for _ in range(3):
        folded.add(LEVEL, "INFO:a:b", task="worker:0", log="logs/worker-0.1.err", at_s=1.0)
    folded.add(TENSORFLOW, "I x.cc:1] y", task="worker:0", log="logs/worker-0.1.err", at_s=1.0)
    fold(folded)
    assert folded.rest(width=100).startswith(
        "… 3 lines below warning and 3 of known noise and 1 of TensorFlow from worker:0 folded"
    )
    fold(folded)
    folded.add(TENSORFLOW, "I x.cc:1] y", task="worker:0", log="logs/worker-0.1.err", at_s=1.0)
    assert folded.rest(width=60) == "… 4 lines from worker:0 folded; in logs/worker-0.1.err"


def test_they_are_told_when_it_is_quiet_or_it_takes_too_long() -> None:
    folded = FoldedLines(LineChoice())
    fold(folded, at_s=1.0)
    assert folded.told(1.0 + QUIET_S / 2, width=80) == ""
    assert folded.told(1.0 + QUIET_S, width=80).startswith("… 3 lines of known noise from worker:0")
    late = FoldedLines(LineChoice())
    for at in range(int(LATE_S) + 1):
        fold(late, at_s=float(at))
        assert (late.told(float(at), width=80) != "") == (at >= LATE_S)


def test_noise_that_comes_again_and_again_is_told_ever_less_often() -> None:
    folded = FoldedLines(LineChoice())
    told = []
    for at in range(0, 1000, 5):
        fold(folded, at_s=float(at))
        if folded.told(at + QUIET_S, width=80):
            told.append(at)
    assert told == [0, 30, 90, 210, 450, 930]
    assert told[1] == AGAIN_S
