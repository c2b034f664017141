"""Behind wrappers, chains and boxes stands the exception that started it, and a line of one's own.

The texts are what TensorFlow 2.21 and 2.15, Keras, torch 2.13, JAX 0.10 and Python 3.11 printed.
"""

import pytest

from holdfast.model.facts import TracebackSeen
from holdfast.model.origin import DEPTH_MAX, Origin, chains_of, origin_of, origin_of_chain
from holdfast.model.tracebacks import HEADER, Traceback

LIBRARY = (
    "/home/user/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py:53 run: x"
)
MAIN = "/home/user/train.py:16 main: net.fit(rows)"
GENERATED = "/tmp/__autograph_generated_fileqq.py:10 tf__scale: factor = ag__.ld(table)['scale']"
TRANSLATED = """in user code:

    File "/home/user/train.py", line 9, in train_step  *
        y = scale(x, {"shift": 2.0})
    File "/home/user/train.py", line 4, in scale  **
        factor = table["scale"]

    KeyError: 'scale'
"""
KERAS_2 = """in user code:

    File "/home/user/venv/lib/python3.11/site-packages/keras/src/engine/training.py", line 1, in f *
        return step_function(self, iterator)
    File "/tmp/__autograph_generated_fileqq.py", line 17, in tf__call
        raise

    RuntimeError: Exception encountered when calling layer 'net' (type Net).
    \x20\x20\x20\x20
    KeyError: 'b'
    \x20\x20\x20\x20
    Call arguments received by layer 'net' (type Net):
      • x=tf.Tensor(shape=(None, 3), dtype=float32)
"""
KERAS_3 = (
    r"'Exception encountered when calling Net.call().\n\n\x1b[1mb\x1b[0m\n\nArguments received by"
    r" Net.call():\n  • x=tf.Tensor(shape=(None, 3), dtype=float32)'"
)
BY_AN_OP = """{{function_node __wrapped__IteratorGetNext}} KeyError: 17
Traceback (most recent call last):

  File "/home/user/venv/lib/python3.11/site-packages/tensorflow/script_ops.py", line 2, in f
    ret = func(*args)
          ^^^^^^^^^^^

  File "/home/user/train.py", line 6, in label_of
    return LABELS[row]
           ~~~~~~^^^^^

KeyError: 17


\t [[{{node PyFunc}}]] [Op:IteratorGetNext] name:\x20"""
BY_A_LOADER = """Caught IndexError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/torch/utils/data/fetch.py", line 54, in fetch
    data = [self.dataset[idx] for idx in possibly_batched_index]
  File "/home/user/rows.py", line 9, in __getitem__
    return torch.tensor(names[i])
IndexError: list index out of range
"""
SPAWNED = """

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/torch/spawn.py", line 87, in _wrap
    fn(i, *args)
  File "/home/user/train.py", line 6, in train
    print(shards[rank])
KeyError: 1
"""
CALLED_BACK = """INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/jax/_src/callback.py", line 71, in __call__
  File "/home/user/train.py", line 7, in lookup
KeyError: 3"""
BOXED = """reading failed (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "/home/user/rows.py", line 2, in one
      |     raise IndexError("shard 4 of 4")
      | IndexError: shard 4 of 4
      +------------------------------------
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/user/rows.py", line 5, in two
    |     raise ValueError("no rows")
    | ValueError: no rows
    +------------------------------------"""
CHAIN_SENT = '''
"""
Traceback (most recent call last):
  File "/home/user/rows.py", line 5, in work
    return int(text)
ValueError: invalid literal for int() with base 10: '12x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/user/venv/lib/python3.11/site-packages/pool.py", line 2, in run
    handle.close()
AttributeError: 'NoneType' object has no attribute 'close'
"""'''
ROOTS = """2 root error(s) found.
  (0) UNKNOWN:  KeyError: 17
Traceback (most recent call last):
"""


def _raised(exception: str, message: str, *frames: str) -> Traceback:
    return Traceback(exception, message, frames)


@pytest.mark.parametrize(
    ("raised", "text", "at"),
    [
        (
            _raised("ag.MultilineMessageKeyError", TRANSLATED, MAIN, GENERATED),
            "KeyError: 'scale'",
            "/home/user/train.py:4",
        ),
        (
            _raised("RuntimeError", KERAS_2, MAIN, GENERATED),
            "KeyError: 'b'",
            "/home/user/train.py:16",
        ),
        (_raised("KeyError", KERAS_3, MAIN), "KeyError: b", "/home/user/train.py:16"),
        (_raised("UnknownError", BY_AN_OP, MAIN, LIBRARY), "KeyError: 17", "/home/user/train.py:6"),
        (
            _raised("IndexError", BY_A_LOADER, MAIN, LIBRARY),
            "IndexError: list index out of range",
            "/home/user/rows.py:9",
        ),
        (
            _raised("torch.ProcessRaisedException", SPAWNED, MAIN, LIBRARY),
            "KeyError: 1",
            "/home/user/train.py:6",
        ),
        (
            _raised("jax.errors.JaxRuntimeError", CALLED_BACK, MAIN),
            "KeyError: 3",
            "/home/user/train.py:7",
        ),
        (
            _raised("ExceptionGroup", BOXED, MAIN),
            "IndexError: shard 4 of 4",
            "/home/user/rows.py:2",
        ),
        (
            _raised("concurrent.futures.process._RemoteTraceback", CHAIN_SENT),
            "ValueError: invalid literal for int() with base 10: '12x'",
            "/home/user/rows.py:5",
        ),
        (_raised("UnknownError", ROOTS, MAIN, LIBRARY), "KeyError: 17", "/home/user/train.py:16"),
        (
            _raised("UnknownError", "<stack traces unavailable>\nKeyError: 2", MAIN, LIBRARY),
            "KeyError: 2",
            "/home/user/train.py:16",
        ),
        (
            _raised("StopIterationError", "{{node x}} StopIteration", MAIN, LIBRARY),
            "StopIteration",
            "/home/user/train.py:16",
        ),
        (
            _raised(
                "InvalidArgumentError",
                "indices = 9 is not in [0, 4)\n(defined at /home/user/train.py:5)",
                MAIN,
                LIBRARY,
            ),
            "InvalidArgumentError: indices = 9 is not in [0, 4)",
            "/home/user/train.py:5",
        ),
        (_raised("ValueError", "labels differ", MAIN), "ValueError: labels differ", MAIN[:22]),
        (_raised("api.StagingError", "no lines", LIBRARY), "StagingError: no lines", ""),
        (_raised("KeyboardInterrupt", ""), "KeyboardInterrupt", ""),
    ],
)
def test_behind_what_was_put_around_it_stands_what_started_it(
    raised: Traceback, text: str, at: str
) -> None:
    origin = origin_of(raised)
    assert (origin.text, origin.at) == (text, at)


def test_the_place_is_a_file_and_a_line_as_a_person_would_say_it() -> None:
    assert origin_of(_raised("ValueError", "", MAIN)).place == "train.py line 16"
    assert not Origin("ValueError", "").place


def test_what_stood_inside_another_message_is_known_as_such() -> None:
    assert origin_of(_raised("UnknownError", BY_AN_OP)).is_embedded
    assert not origin_of(_raised("ValueError", "labels differ")).is_embedded


@pytest.mark.parametrize(
    "message",
    [
        f"they say {HEADER}\n",  # nothing below it
        f"{HEADER}\nValueError: no frame",
        f"{HEADER}\n  File",
        f"{HEADER}\n  File\n{HEADER}\n  File",
        "in user code:",
        "in user code:\n\n    File",
        "Exception encountered when calling Net.call().\n",
        f'{HEADER}\n  File "/x.py", line 1, in f\nlog line\n  File',
    ],
)
def test_a_wrapper_that_holds_nothing_is_told_as_it_is(message: str) -> None:
    assert origin_of(_raised("RuntimeError", message, MAIN)).exception == "RuntimeError"


def test_the_first_line_that_tells_is_told_and_no_more_than_a_line() -> None:
    assert origin_of(_raised("E", "\n\nsecond\nthird")).message == "second"
    assert origin_of(_raised("E", "Caught E in process 0.")).message == "Caught E in process 0."
    assert origin_of(_raised("E", "x" * 999)).message.endswith("x…")


def test_wrappers_without_an_end_are_looked_into_up_to_a_limit() -> None:
    message = "Exception encountered when calling f.\n" * (DEPTH_MAX + 5) + "bad"
    assert origin_of(_raised("RuntimeError", message)).exception == "RuntimeError"


ROOT = _raised("ValueError", "invalid literal", "/home/user/read.py:5 read: int(x)")
WRAPPER = _raised(
    "ConfigError", "no good", "/home/user/load.py:11 load: raise ConfigError(x) from e"
)
ACCIDENT = _raised("AttributeError", "no close", "/home/user/load.py:5 close: handle.close()")
TRANSFORMED = _raised("jax.x.JaxStackTraceBeforeTransformation", "IndexError: gone", MAIN)


def test_of_a_chain_the_root_is_told_and_what_came_after_it_is_named() -> None:
    told = origin_of_chain([ROOT, ACCIDENT])
    assert told.text == "ValueError: invalid literal"
    assert told.other == "; after it came AttributeError: no close, at load.py line 5"


def test_of_a_chain_what_the_program_raised_on_purpose_is_told_with_its_root() -> None:
    told = origin_of_chain([ROOT, WRAPPER])
    assert (told.text, told.place) == ("ConfigError: no good", "load.py line 11")
    assert told.other == "; it was raised over ValueError: invalid literal, at read.py line 5"
    assert origin_of_chain([_raised("E", "x"), WRAPPER]).other == "; it was raised over E: x"


def test_a_chain_of_one_or_of_the_same_twice_has_no_other() -> None:
    assert not origin_of_chain([ROOT]).other
    assert not origin_of_chain([ROOT, ROOT]).other


def test_where_jax_shows_the_operation_is_not_what_started_it() -> None:
    told = origin_of_chain([TRANSFORMED, ROOT])
    assert (told.text, told.other) == ("ValueError: invalid literal", "")
    assert origin_of_chain([TRANSFORMED]).text == "IndexError: gone"


def _seen(exception: str, message: str = "", *, follows: str = "") -> TracebackSeen:
    return TracebackSeen(at_s=0.0, host="", exception=exception, message=message, follows=follows)


def _names(*seen: TracebackSeen) -> list[list[str]]:
    return [[one.exception for one in chain] for chain in chains_of(seen)]


def test_tracebacks_that_python_joins_are_one_chain() -> None:
    assert _names(_seen("A"), _seen("B", follows="cause"), _seen("C")) == [["A", "B"], ["C"]]
    assert _names(_seen("B", follows="context")) == [["B"]]


def test_what_a_message_quotes_stands_in_its_place() -> None:
    sent = "\n\n-- Process 1 terminated with the following error:"
    assert _names(_seen("ProcessRaisedException", sent), _seen("KeyError", "1")) == [["KeyError"]]
    by_an_op = _seen("UnknownError", "{{node x}} KeyError: 17")
    assert _names(by_an_op, _seen("KeyError", "17\n\t [[x]]")) == [["KeyError"]]
    assert _names(_seen("StopIterationError", "StopIteration"), _seen("StopIteration")) == [
        ["StopIteration"]
    ]
    caught = _seen("IndexError", "Caught IndexError in DataLoader worker process 0.")
    assert _names(caught, _seen("IndexError", "out of range")) == [["IndexError"]]
    assert _names(_seen("ExceptionGroup", "two"), _seen("KeyError", "1")) == [["KeyError"]]
    assert _names(_seen("E", f"callback: {HEADER}"), _seen("KeyError", "1")) == [["KeyError"]]
