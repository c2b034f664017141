"""What programs print all day long tells nothing: no line of it is worth reading twice."""

import pytest

from holdfast.diagnose import words_to_hear
from holdfast.model.pattern import AnyOf

CALM = """
INFO:tensorflow:loss = 0.51, step = 1200 (2.031 sec)
INFO:tensorflow:global_step/sec: 49.2311
I0312 07:02:18.199696 12345 checkpoint_manager.cc:221] Saved checkpoint at step 400 to gs://bucket/run/ckpt-400
2026-03-12 07:02:18.199696: I tensorflow/core/platform/file_system.cc:12] reading gs://bucket/shards/train-00001-of-00100.tfrecord
2026-03-12 07:02:18,199 - train.loop - INFO - reading s3://bucket/shards/train-00001.tfrecord
2026-03-12 07:02:18,199 - input_pipeline - INFO - hdfs://namenode:9000/data/part-00017: 12000 rows
Evaluation finished: 200 batches, mean 0.12, no error in 40 files
host 12 reports 2048 MiB resident, 12.1 % of the limit, 0 failed allocations
retrieved 12 of 40 work units, timeout 600 s, none cancelled
Epoch 3/10: loss 0.31
 120/1000 [==>...........................] - ETA: 12s - loss: 0.31 - accuracy: 0.91
step 1200 loss 0.123 lr 0.001
[2026-03-12 07:02:18,199] [INFO] [engine.py:120:train_batch] step 12, loss 2.31, lr 0.0001
variable dense_12/kernel:0 shape=(128, 64) dtype=float32
worker:1 waits for batch 12, queue depth 4
GPU 0: 63 C, 240 W, 31000 MiB of 40960 MiB
saving model to /data/models/run-12/model.ckpt-1200
validation error 0.0312 after 1200 steps
test failed samples: 3 of 10000
""".strip().splitlines()


@pytest.mark.parametrize("line", CALM)
def test_a_calm_line_tells_nothing(line: str) -> None:
    assert AnyOf(words_to_hear()).first(line.encode(), 0) < 0
