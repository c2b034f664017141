"""From logs alone, healthy is a claim that needs proof."""

from holdfast.diagnose import diagnose, words_to_hear
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis, Verdict
from holdfast.model.hearing import hear_text, settle
from holdfast.model.pattern import AnyOf

TELLING = AnyOf(words_to_hear())
CLUSTER = (
    'TF_CONFIG={"cluster": {"worker": ["a:1", "b:1", "c:1"]},'
    ' "task": {"type": "worker", "index": 0}}\n'
)
UP_TO_340 = (
    "2026-11-18 14:02:10.000 step 330 loss 0.3\n2026-11-18 14:02:11.%03d step 340 loss 0.2\n"
)
DONE = "2026-11-18 14:02:12.000 training done\n"


def told(**logs: str) -> Diagnosis:
    """Of logs by the names of their files."""
    heard = [hear_text(f"{name}.log", log.encode(), TELLING) for name, log in logs.items()]
    return diagnose(Evidence(settle(heard)))


def well(diagnosis: Diagnosis) -> list[str]:
    return list(map(str, diagnosis.healthy))


def test_all_fell_silent_at_the_same_step() -> None:
    logs = {f"worker_{index}": UP_TO_340 % (index + 1) for index in range(3)}
    diagnosis = told(**logs)
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.unknown == (
        "nobody finished: all fell silent at 14:02:11, at step 340, within 2 ms",
    )
    assert well(diagnosis) == []
    assert [one.why for one in diagnosis.unusual] == ["its last words"] * 3


def test_silence_in_the_same_second() -> None:
    diagnosis = told(worker_0=UP_TO_340 % 0, worker_1=UP_TO_340 % 0)
    assert diagnosis.unknown[0].endswith("at step 340, in the same second")


def test_without_times_and_at_different_steps() -> None:
    diagnosis = told(worker_0="step 330 loss 0.3\n", worker_1="step 340 loss 0.3\n")
    assert diagnosis.unknown == ("nobody finished: all fell silent, at steps 330 to 340",)


def test_one_log_that_ends_with_a_step() -> None:
    diagnosis = told(train=UP_TO_340 % 1)
    assert diagnosis.unknown == (
        "nobody finished: train.log falls silent at 14:02:11, at step 340",
    )


def test_a_task_without_a_log_is_unknown() -> None:
    diagnosis = told(worker_0=CLUSTER + UP_TO_340 % 1 + DONE, worker_1=UP_TO_340 % 1 + DONE)
    assert diagnosis.verdict is Verdict.HEALTHY
    assert well(diagnosis) == ["worker:0", "worker:1"]
    assert diagnosis.unknown == ("how worker:2 fared: there is no log of it",)


def test_several_without_a_log_and_one_whose_log_is_empty() -> None:
    diagnosis = told(worker_0=CLUSTER + UP_TO_340 % 1 + DONE)
    assert diagnosis.unknown == ("how worker:1 and worker:2 fared: there is no log of them",)
    diagnosis = told(worker_0=CLUSTER + UP_TO_340 % 1 + DONE, worker_1="", worker_2="")
    assert diagnosis.unknown == ("how worker:1 and worker:2 fared: their logs are empty",)
    diagnosis = told(worker_0=UP_TO_340 % 1 + DONE, worker_1="")
    assert diagnosis.unknown == ("how worker:1 fared: its log is empty",)
    assert well(diagnosis) == ["worker:0"]


def test_a_log_that_is_nobodys_may_be_of_a_task_that_was_not_heard() -> None:
    given = {"worker_0": CLUSTER + UP_TO_340 % 1 + DONE, "worker_1": UP_TO_340 % 1}
    assert told(**given, notes="calm\n").unknown == (
        "how worker:2 fared: no log is known to be its own",
    )
    assert told(worker_0=given["worker_0"], notes="calm\n").unknown == (
        "how worker:1 and worker:2 fared: no log is known to be their own",
    )


def test_names_before_the_lines_of_one_log_are_heard() -> None:
    lines = "".join(f"[worker-{index}] step 340 loss 0.2\n" for index in range(3))
    merged = told(worker_0=CLUSTER + UP_TO_340 % 1 + DONE, merged=lines)
    assert merged.unknown == ()


def test_the_end_of_the_leader_is_that_of_the_job() -> None:
    late = "2026-11-18 14:02:13.000 step 341 loss 0.2\n"
    diagnosis = told(worker_0=UP_TO_340 % 1 + DONE, worker_1=UP_TO_340 % 1 + late)
    assert diagnosis.verdict is Verdict.HEALTHY
    assert well(diagnosis) == ["worker:0", "worker:1"]


def test_another_s_end_covers_those_who_end_with_it() -> None:
    diagnosis = told(worker_0=UP_TO_340 % 1, worker_1=UP_TO_340 % 1 + DONE)
    assert diagnosis.verdict is Verdict.HEALTHY


def test_another_s_end_does_not_cover_those_who_go_on() -> None:
    later = "2026-11-18 14:04:13.000 step 350 loss 0.2\n"
    ended = UP_TO_340 % 1 + DONE
    diagnosis = told(worker_0=UP_TO_340 % 1 + later, worker_1=ended, worker_2=ended)
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.unknown == (
        "whether worker:0 finished: its log ends at step 350, and no end is told",
    )
    assert well(diagnosis) == ["worker:1", "worker:2"]
    again = told(worker_0=UP_TO_340 % 1 + later, worker_1=UP_TO_340 % 1 + later, worker_2=ended)
    assert again.unknown == (
        "whether worker:0 and worker:1 finished: their logs end at step 350, and no end is told",
    )


def test_a_launcher_s_word_is_that_of_all() -> None:
    diagnosis = told(
        worker_0=UP_TO_340 % 1,
        worker_1=UP_TO_340 % 1,
        launcher="2026-11-18 14:12:12.000 job exited with code 0\n",
    )
    assert diagnosis.verdict is Verdict.HEALTHY


def test_a_total_that_is_reached_is_an_end() -> None:
    assert told(train="Epoch 2/2\n40/40 [======] - 1s - loss: 0.2\n").verdict is Verdict.HEALTHY


def test_a_server_that_was_stopped_is_an_end_where_no_trainer_speaks() -> None:
    served = "2026-11-18 14:02:10.000 serving\n2026-11-18 14:02:12.000 server stopped.\n"
    assert told(ps_0=served).verdict is Verdict.HEALTHY
    assert told(ps_0=served, worker_0=UP_TO_340 % 1).verdict is Verdict.CANNOT_TELL


def test_logs_without_any_training_say_nothing_of_an_end() -> None:
    diagnosis = told(tool="reads a file\nwrites a file\n")
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.unknown == ("whether it finished: nothing in these logs says so",)


def test_trouble_is_told_as_before_and_only_those_at_their_end_are_well() -> None:
    odd = "2026-11-18 14:02:12.000 ERROR something odd\n"
    diagnosis = told(worker_0=UP_TO_340 % 1 + odd, worker_1=UP_TO_340 % 1 + DONE)
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.unknown == ()
    assert well(diagnosis) == ["worker:1"]


def test_of_a_job_that_failed_those_without_a_log_are_not_called_well() -> None:
    full = "OSError: [Errno 28] No space left on device\n"
    diagnosis = told(worker_0=CLUSTER + UP_TO_340 % 1 + full, worker_1=UP_TO_340 % 1)
    assert diagnosis.verdict is Verdict.SICK
    assert well(diagnosis) == ["worker:1"]
    assert diagnosis.unknown == ("how worker:2 fared: there is no log of it",)
