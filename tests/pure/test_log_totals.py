"""Whether a log's last progress reaches the total that it announces."""

import pytest

from holdfast.model.hearing import hear_text
from holdfast.model.log_facts import TotalTold
from holdfast.model.log_totals import EPOCH_HEAD, last_total
from holdfast.model.pattern import AnyOf

BAR = "1875/1875 [==============================] - 3s 2ms/step - loss: 0.02"

REACHED = {
    "a bar of the last epoch": ["Epoch 5/5", BAR],
    "a bar drawn again and again": ["Epoch 5/5", f"   1/1875 [....]\b\b\b\b{BAR}"],
    "a bar in colours": ["Epoch 5/5", "\x1b[1m40/40\x1b[0m \x1b[32m━━━━━━\x1b[0m 1s 9ms/step"],
    "a validation behind the last epoch": ["Epoch 5/5", BAR, "10/40 [==>...] - ETA: 3s"],
    "an epoch on one line": ["Epoch [20/20], loss 0.31"],
    "an epoch and its steps": ["Epoch [5/5], Step [600/600], Loss: 0.11"],
    "epochs in words": ["epoch 3 of 3: loss 0.2"],
    "steps": ["step 990/1000 loss 0.2", "step 1000/1000 loss 0.1"],
    "steps with commas": ["iteration 20,000/20,000"],
    "steps in brackets": ["[1000/1000] loss 0.1"],
    "a bar of tqdm in the last epoch": [
        "Epoch 2/2",
        "100%|██████████| 938/938 [00:12<00:00, 75.1it/s]",
    ],
}
SHORT = {
    "an earlier epoch": ["Epoch 2/5", BAR],
    "the last epoch in its middle": ["Epoch 5/5", " 900/1875 [=====>....] - ETA: 2s"],
    "steps": ["step 340/1000 loss 0.2"],
    "a bar": ["  7%|▋  | 70/1000 [00:12<02:00, 7.1it/s]"],
}
NEITHER = {
    "the head of the last epoch": ["Epoch 5/5"],
    "the last but one, counted from 0": ["Epoch [4/5], loss 0.2"],
    "epochs without a number of them": ["Epoch 3", "step 600/600 loss 0.1"],
    "an epoch far above": ["epoch 3 begins", *(f"step {at}/40" for at in range(41))],
    "a bar without an epoch": [BAR],
    "a download": ["Downloading model.bin: 100%|████| 938/938 [00:12<00:00, 75.1it/s]"],
    "a validation": ["Validation step 40/40"],
    "a date": ["2026/11/18 started"],
    "nothing": [],
}


@pytest.mark.parametrize("lines", REACHED.values(), ids=REACHED)
def test_a_total_is_reached(lines: list[str]) -> None:
    assert last_total(lines).is_reached


@pytest.mark.parametrize("lines", SHORT.values(), ids=SHORT)
def test_a_total_is_clearly_not_reached(lines: list[str]) -> None:
    known = last_total(lines)
    assert (known.is_reached, known.is_short) == (False, True)


@pytest.mark.parametrize("lines", NEITHER.values(), ids=NEITHER)
def test_nothing_is_known_of_a_total(lines: list[str]) -> None:
    known = last_total(lines)
    assert (known.is_reached, known.is_short) == (False, False)


def totals(log: str) -> list[bool]:
    heard = hear_text("job.log", log.encode(), AnyOf([EPOCH_HEAD]))
    return [fact.is_reached for fact in heard.facts if isinstance(fact, TotalTold)]


def test_the_head_of_an_epoch_is_known_far_above_its_end() -> None:
    drawn = "".join(f"{step}/1875 [==>...] - ETA: 2s - loss: 0.02\n" for step in range(500))
    assert totals(f"Epoch 1/3\n{drawn}{BAR}\n") == [False]
    assert totals(f"Epoch 1/2\n{drawn}Epoch 2/2\n{drawn}{BAR}\n") == [True]


def test_a_log_that_announces_nothing_tells_of_no_total() -> None:
    assert totals("step 12 loss 0.2\n") == []


def test_epochs_that_are_counted_from_0_end_one_before_their_total() -> None:
    last = "Epoch: [9/10] Iter [40/40] loss 0.1\n"
    assert totals(f"settings\nEpoch: [0/10] Iter [10/40] loss 0.9\n{last}") == [True]
    assert totals(f"Epoch: [1/10] Iter [10/40] loss 0.9\n{last}") == []
