"""Worker 1 has found fewer files than the others, and is through with them earlier."""

from training import task, train

train(lambda step: None, steps=20 if task() == "worker:1" else 200)
