"""Words that say that the work came to its end, and words that only sound so."""

import pytest

from holdfast.diagnose.log_end_words import says_end

STEP = "step 340 loss 0.21"

ENDS = {
    "done": [STEP, "DONE"],
    "a word alone": [STEP, "all done."],
    "a word alone behind a logger": [STEP, "07:02:11.048 [main] INFO trainer.Main - Done"],
    "a word alone of each rank": [STEP, "Finished!", "Finished!"],
    "training is complete": [STEP, "2026-11-18 07:02:11,048 - INFO - Training completed in 32 s"],
    "training is complete, turned around": [STEP, "Completed the training in 32 s"],
    "the final step": ["INFO:tensorflow:Loss for final step: 0.31."],
    "a final model": [STEP, "Saved the final model to /data/out"],
    "a final accuracy": [STEP, "Final test accuracy: 0.93"],
    "a summary of a trainer": ["{'train_runtime': 41.2, 'train_loss': 0.3}"],
    "a trainer at its limit": ["`Trainer.fit` stopped: `max_epochs=3` reached."],
    "early stopping": ["Epoch 00012: early stopping"],
    "a benchmark": ["total images/sec: 812.10"],
    "convergence": ["Converged in 4100 iterations"],
    "a good exit": ["[launch.py:351:main] Process 4711 exits successfully."],
    "an exit code": ["worker-0 exited with exit code 0"],
    "Slurm's record": ["4711  train  gpu  acct  8  COMPLETED  0:0"],
    "Slurm's state": ["   JobState=COMPLETED Reason=None Dependency=(null)"],
    "a pod": ["trainer-worker-0   0/1   Completed   0   31m"],
    "torchrun": ["INFO: worker group finished (WorkerState.SUCCEEDED). Waiting 300 seconds"],
    "a server": ["parameter server 0 stopped."],
    "the shell's time": [STEP, "real\t3m12.011s"],
    "a sum at the end": [STEP, "Total training time: 31.2 s"],
    "sums of several at the end": [STEP, "Total time: 31.2 s", "Total time: 31.3 s"],
    "teardown behind it": ["training is done", "I0000 00:00:1794773820.206880 12 a.cc:1] bye bye"],
}
NO_ENDS = {
    "a step": [STEP],
    "a step behind the end of a part": ["Training completed", STEP],
    "an epoch": [STEP, "Training of epoch 3 completed"],
    "a download": ["Download of the training set finished"],
    "a part of the preparation": ["Completed train test split", "Training data: split finished"],
    "what is not yet": ["waiting until training is finished"],
    "a thing that was begun above": ["Reading settings...", "Done"],
    "one of many things": ["Done", "next shard", "Done"],
    "a sum told on the way": ["Total time: 3.1 s", STEP, "Total time: 3.3 s"],
    "a bad exit behind it": ["training done", "`train.py` returned non-zero exit status 1."],
    "an error": ["Error: the job has not completed"],
    "nothing": ["", ""],
}


@pytest.mark.parametrize("lines", ENDS.values(), ids=ENDS)
def test_an_end_is_told(lines: list[str]) -> None:
    assert says_end(lines, is_short=False)


@pytest.mark.parametrize("lines", NO_ENDS.values(), ids=NO_ENDS)
def test_no_end_is_told(lines: list[str]) -> None:
    assert not says_end(lines, is_short=False)


def test_where_a_total_is_not_reached_a_sum_is_no_end_but_plain_words_are() -> None:
    assert not says_end([STEP, "Total training time: 31.2 s"], is_short=True)
    assert says_end([STEP, "Training finished"], is_short=True)
