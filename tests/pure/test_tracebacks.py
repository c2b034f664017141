"""A traceback is read out of a log, wherever it stands and whatever comes after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.tracebacks import (
    FRAMES_MAX,
    MESSAGE_LENGTH_MAX,
    MESSAGE_LINES_MAX,
    Traceback,
    TracebackReader,
)

PLAIN = """\
  File "/home/user/train/mirrored.py", line 94, in <module>
    main()
  File "/home/user/train/faulty.py", line 69, in fail
    raise RuntimeError("told to fail")
           ^^^^^^^^^^^^~~~~~~
RuntimeError: told to fail"""
# Cut from a chief that could not save: TensorFlow 2.21 repeats the first part eight times.
GRAPH = """\
  File "/home/user/venv/tensorflow/python/eager/execute.py", line 53, in quick_execute
    tensors = pywrap_tfe.TFE_Py_Execute(ctx._handle, device_name, op_name,
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

Detected at node SaveV2_1 defined at (most recent call last):
  File "/home/user/train/parameter_server.py", line 97, in <module>

  File "/home/user/train/parameter_server.py", line 67, in train

2 root error(s) found.
  (0) RESOURCE_EXHAUSTED:   /data/ck/ckpt-40_temp/part-00001; No space left on device
0 derived errors ignored. [Op:__inference_tf_function_save_215]"""
# Printed by Python 3.11 for an exception in an asyncio.TaskGroup.
GROUP = """\
  |   File "train.py", line 9, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "train.py", line 5, in step
    | ValueError: no rows
    +------------------------------------"""


def read(text: str) -> tuple[Traceback | None, int]:
    """What a reader makes of the lines, and how many of them it took."""
    reader, taken = TracebackReader(), 0
    for line in text.split("\n"):
        if not reader.take(line):
            break
        taken += 1
    return reader.result(), taken


def test_frames_with_their_code_and_the_exception() -> None:
    assert read(PLAIN)[0] == Traceback(
        exception="RuntimeError",
        message="told to fail",
        frames=(
            "/home/user/train/mirrored.py:94 <module>: main()",
            '/home/user/train/faulty.py:69 fail: raise RuntimeError("told to fail")',
        ),
    )


@pytest.mark.parametrize(
    "after",
    [
        "E0000 00:00:1794781297.757874    9948 context.cc:911] Failed to remove function",
        "2026-11-15 19:57:41.925703: E tensorflow/core/ring_alg.cc:291] text",
        "INFO:tensorflow:Waiting for model to be ready.",
        "Traceback (most recent call last):",
        "During handling of the above exception, another exception occurred:",
        "Exception ignored in: <function Pool.__del__ at 0x7f9e983b34ad>",
        "The above exception was the direct cause of the following exception:",
    ],
)
def test_the_next_record_is_not_part_of_the_message(after: str) -> None:
    found, taken = read(f"{PLAIN}\nsecond line\n\n{after}")
    assert found is not None
    assert found.message == "told to fail\nsecond line"
    assert taken == len(PLAIN.split("\n")) + 2


def test_where_a_graph_was_defined_does_not_hide_what_went_wrong() -> None:
    found, _ = read(GRAPH)
    assert found is not None
    assert found.message.startswith("2 root error(s) found.\n  (0) RESOURCE_EXHAUSTED:")
    assert "No space left on device" in found.message


def test_an_exception_group_is_an_exception() -> None:
    found, _ = read(GROUP)
    assert found is not None
    assert found.exception == "ExceptionGroup"
    assert found.frames == ("train.py:9 <module>: asyncio.run(main())",)
    assert "ValueError: no rows" in found.message


@pytest.mark.parametrize(
    ("line", "exception", "message"),
    [
        ("KeyError: 'task'", "KeyError", "'task'"),
        ("KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("AssertionError:", "AssertionError", ""),
        ("a.b.C_1: x: y", "a.b.C_1", "x: y"),
        ("ValueError: 2026-11-15 is not a number", "ValueError", "2026-11-15 is not a number"),
    ],
)
def test_the_line_of_the_exception(line: str, exception: str, message: str) -> None:
    assert read(f'  File "a.py", line 1\n    go()\n{line}')[0] == Traceback(
        exception, message, ("a.py:1: go()",)
    )


@pytest.mark.parametrize("line", ["[rank 0] step 20", "step 20 loss 0.7", "WARNING: a thread"])
def test_a_traceback_that_another_thread_cut_is_no_traceback(line: str) -> None:
    found, taken = read(f'  File "a.py", line 1, in f\n    go()\n{line}')
    assert (found, taken) == (None, 2)


def test_a_traceback_without_its_exception_is_not_told() -> None:
    assert read('  File "a.py", line 1, in f\n    go()')[0] is None
    assert read("")[0] is None


def test_the_innermost_frames_survive_a_deep_recursion() -> None:
    deep = "\n".join(f'  File "a.py", line {n}, in f' for n in range(5 * FRAMES_MAX))
    found, _ = read(f"{deep}\nRecursionError: too deep")
    assert found is not None
    assert len(found.frames) == FRAMES_MAX
    assert found.frames[0] == "a.py:0 f"
    assert found.frames[-1] == f"a.py:{5 * FRAMES_MAX - 1} f"


def test_a_message_without_end_is_cut() -> None:
    found, taken = read("ValueError: no\n" + "more\n" * 10_000)
    assert taken == MESSAGE_LINES_MAX
    assert found is not None
    long, _ = read("ValueError: " + "x" * 100_000)
    assert long is not None
    assert len(long.message) == MESSAGE_LENGTH_MAX


@given(st.lists(st.text(max_size=30) | st.sampled_from(PLAIN.split("\n")), max_size=12))
def test_no_lines_are_too_strange(lines: list[str]) -> None:
    found, taken = read("\n".join(lines))
    assert taken <= len("\n".join(lines).split("\n"))
    assert found is None or found.exception
