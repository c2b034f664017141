"""Which step a piece of output tells: the words of many, and the numbers that are no steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.steps import UNTOLD, Steps, steps_told

BAR_2 = b"\r 12/100 [==>...........................] - ETA: 3s - loss: 0.3010"
BAR_3 = (
    b"\x08\x08\x08\r\x1b[1m12/100\x1b[0m \x1b[32m\xe2\x94\x81\xe2\x94\x81\x1b[0m\x1b[37m"
    b"\xe2\x94\x81\xe2\x94\x81\x1b[0m \x1b[1m3s\x1b[0m 31ms/step - loss: 0.3010"
)


def told(*pieces: bytes, known: Steps = UNTOLD) -> Steps:
    for piece in pieces:
        known = steps_told(piece, known)
    return known


@pytest.mark.parametrize(
    ("piece", "step", "source"),
    [
        (b"step 120 loss 0.3\n", 120, "log"),
        (b"Step: 120\n", 120, "log"),
        (b"global_step = 120\n", 120, "log"),
        (b"INFO:tensorflow:loss = 0.1, step = 100 (3.2 sec)\n", 100, "log"),
        (b"INFO:tensorflow:Saving checkpoints for 340 into /d/model.ckpt.\n", 340, "log"),
        (b"[120/5000] loss 0.1\n", 120, "log"),
        (b"iter 120 loss=0.1\n", 120, "log"),
        (b"iteration: 120\n", 120, "log"),
        (b"step=120, loss=0.3\n", 120, "log"),
        (b"Step #120.\n", 120, "log"),
        (b"step 1,200 loss 0.3\n", 1200, "log"),
        (b"step 120/5000\n", 120, "log"),
        (b'{"time": 1794801760.1, "step": 120, "loss": 0.3}\n', 120, "log"),
        (b"{'loss': 0.3, 'step': 120}\n", 120, "log"),
        (b"Batch 12\n", 12, "log"),
        (b"Epoch 3: loss 0.1\n", 3, "log"),
        (b" 12%|###      | 12/100 [00:01<00:09,  9.80it/s]\r", 12, "log"),
        (BAR_2, 12, "keras"),
        (BAR_3, 12, "keras"),
        (b"     12/Unknown - 1s 20ms/step - loss: 0.3\r", 12, "keras"),
        (b"Epoch 3/10\n" + BAR_2, 212, "keras"),
        (b"Epoch 3/10\n" + BAR_3, 212, "keras"),
        (b"Epoch 2/5\n100/100 - 3s - 30ms/step - loss: 0.3\n", 200, "keras"),
        (b"2026-11-16 04:01:36 I step 120 took 12 ms\n", 120, "log"),
        (b"step 100 a\nstep 101 b\nstep 102 c\n", 102, "log"),
        (b"Epoch [3/10], Step [120/5000], Loss: 0.1\n", 120, "log"),
        (b"Epoch 1/5 - 120/5000 - loss: 0.3\n", 120, "log"),
    ],
)
def test_a_step_is_read_in_many_words(piece: bytes, step: int, source: str) -> None:
    found = told(piece)
    assert (found.step, found.source) == (step, source)


@pytest.mark.parametrize(
    "piece",
    [
        b"",
        b"INFO:tensorflow:global_step/sec: 12.3\n",
        b"2026-11-16 04:01:36.123456: I tensorflow/core/x.cc:120] ready\n",
        b"I0000 00:00:1794768028.688851    8723 ring_alg.cc:291] text\n",
        b"12% done, batch_size=32, max_steps=5000, 3 of 10\n",
        b"step 12% of the way\n",
        b"took 31ms/step\n",
        b"step 0.5\n",
        b"step 12:30:11\n",
        b"steps per epoch: 100\n",
        b"eval step 12 loss 0.1\n",
        b"Validation: step 12\n",
        b"step 12",  # its end is not written yet
        b"step 1234567890123456\n",
        b"date 11/16/2026, 7/8 ready\n",
    ],
)
def test_other_numbers_are_no_steps(piece: bytes) -> None:
    assert told(piece) == UNTOLD


def test_a_new_epoch_counts_on() -> None:
    assert told(b"step 90 x\nstep 100 x\nstep 10 x\n").step == 110
    assert told(b"step 90 x\nstep 100 x\n", b"step 10 x\n", b"step 20 x\n").step == 120


def test_who_goes_back_a_little_is_not_further_for_it() -> None:
    assert told(b"step 100 x\nstep 90 x\n").step == 100
    assert told(b"step 100 x\nstep 90 x\nstep 95 x\n").step == 105


def test_bars_of_a_second_epoch_count_on_even_if_nobody_names_it() -> None:
    assert told(b"99/100 [===>.] - 1s\r", b"3/100 [>....] - 1s\r").step == 102


def test_a_validation_at_the_end_of_an_epoch_is_no_step() -> None:
    first = told(b"Epoch 1/3\n", b"100/100 [====] - 1s\r", b"7/20 [==>] - 1s\r")
    assert first.step == 100
    assert steps_told(b"Epoch 2/3\n1/100 [>...] - 1s\r", first).step == 101


def test_a_second_fit_counts_on_where_the_first_ended() -> None:
    first = told(b"Epoch 1/2\n10/10 - 1s\n", b"Epoch 2/2\n10/10 - 1s\n")
    again = told(b"Epoch 1/2\n", b"4/10 [=>..] - 1s\r", b"10/10 [====] - 1s\n", known=first)
    assert (first.step, again.step) == (20, 30)
    assert told(b"Epoch 2/2\n10/10 - 1s\n", known=again).step == 40


def test_epochs_in_the_programs_own_words_do_not_hide_that_bars_go_on() -> None:
    epoch = (b"Epoch 1/1 - 4/1000 - loss: 1.5\n", b"10/10 - 2s - loss: 0.5 - 210ms/step\n")
    assert told(*epoch).step == 10
    assert told(*epoch, b"Epoch 2/9\n", *epoch, b"Epoch 3/9\n", *epoch).step == 30


def test_the_most_exact_words_are_believed() -> None:
    assert told(b"step 500 x\n", b"Batch 3\n", b"[7/10]\n").step == 500
    assert told(b"Batch 3\n", b"step 500 x\n").step == 500


def test_a_word_that_was_said_once_does_not_hide_the_rest() -> None:
    lines = [b"[%d/5000] loss\n" % count for count in range(1, 60)]
    found = told(b"step 1 of the set-up\n", *lines)
    assert found.kind == "of"
    assert found.step >= 30


def test_a_bar_in_one_piece_after_the_other_is_followed() -> None:
    known = told(b"Epoch 1/2\n")
    for count in range(1, 11):
        known = steps_told(b"\r%d/10 [=>...] - ETA: 1s" % count, known)
        assert known.step == count
    assert steps_told(b"\nEpoch 2/2\n\r1/10 [>...]", known).step == 11


def test_an_epoch_above_many_bars_is_not_lost() -> None:
    bars = b"".join(b"\r%d/100 [=>...] - ETA: 1s" % count for count in range(1, 30))
    assert told(b"Epoch 4/9\n" + bars).step == 329


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_no_bytes_make_the_step_go_back(pieces: list[bytes]) -> None:
    known = UNTOLD
    for piece in pieces:
        after = steps_told(piece, known)
        assert after.step >= known.step
        known = after


@given(st.lists(st.tuples(st.sampled_from(["step", "iter", "Epoch"]), st.integers(0, 10**6))))
def test_no_numbers_make_the_step_go_back(lines: list[tuple[str, int]]) -> None:
    known = UNTOLD
    for word, number in lines:
        after = steps_told(f"{word} {number} loss 1\n".encode(), known)
        assert after.step >= known.step
        known = after


@pytest.mark.parametrize(
    "shape",
    ["[{}] loss=0.{}7", "{} | 0.{} | 0.88", "#{}: 1.{}e-3", "2026-11-18 10:01:4{} I {}; loss 0.3"],
)
def test_lines_of_one_shape_with_a_count_and_a_measure_tell_steps(shape: str) -> None:
    pieces = [shape.format(step, step).encode() + b"\n" for step in (1, 6, 7)]
    assert told(*pieces[:2]).step == -1
    assert told(*pieces).step == 7
    assert told(b"".join(pieces)).step == 7
    assert told(*pieces, pieces[0]).step == 7, "an epoch has begun"


@pytest.mark.parametrize(
    "shape",
    [
        "[{}] alive",  # a heartbeat has no measure
        "179499610{} 0.3",  # a moment in time
        "took 0.{} s",
        "10:01:4{} loss 0.3",
        "worker{} loss 0.3",
        "127.0.0.{} 3 0.2",
    ],
)
def test_numbers_that_count_nothing_tell_no_steps(shape: str) -> None:
    pieces = [shape.format(step).encode() + b"\n" for step in range(1, 9)]
    assert told(*pieces).step == -1


def test_words_for_steps_are_believed_rather_than_a_count() -> None:
    counts = [f"[{number}] loss=0.3\n".encode() for number in range(1, 9)]
    assert told(*counts, b"step 3 loss 0.3\n", b"[40] loss=0.2\n", b"step 4\n").step == 9
    assert told(b"step 3 loss 0.3\n", *counts).step == 3
