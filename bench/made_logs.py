"""Makes logs of training jobs, any size: TensorFlow, absl, Python logging and Keras lines."""

import random
from collections.abc import Iterator
from pathlib import Path

POOL_LINES = 200_000  # that differ; a larger log repeats them in another order
TELLING_EACH = 1_000  # one line in so many tells something
CHUNK_LINES = 2_000
_SOURCES = (
    *("tensorflow/core/common_runtime/executor.cc", "tensorflow/core/framework/op_kernel.cc"),
    *(
        "tensorflow/compiler/xla/service/service.cc",
        "tensorflow/core/platform/cpu_feature_guard.cc",
    ),
    *(
        "tensorflow/core/distributed_runtime/rpc/grpc_server_lib.cc",
        "external/local_xla/xla/util.cc",
    ),
)
_NAMES = ("absl", "tensorflow", "train.loop", "input_pipeline", "checkpoint", "metrics", "botocore")
_SAYINGS = (
    "Saved checkpoint at step {n} to gs://bucket/run-{m}/ckpt-{n}",
    "loss = {x:.6f}, accuracy = {y:.4f} ({z:.3f} sec)",
    "global_step/sec: {z:.4f}",
    "examples/sec: {x:.2f} average {y:.2f}",
    "Shuffle buffer filled: {n} of {m} elements",
    "Evaluation finished: {n} batches, mean {x:.5f}, no error in {m} files",
    "reading gs://bucket/shards/train-{n:05d}-of-{m:05d}.tfrecord",
    "host {n} reports {m} MiB resident, {x:.1f} % of the limit, 0 failed allocations",
    "variable dense_{n}/kernel:0 shape=({m}, {n}) dtype=float32",
    "retrieved {n} of {m} work units, timeout 600 s, none cancelled",
)
_OP = "tensorflow/core/framework/op_kernel.cc"
_TELLING = (
    "{t}: E tensorflow/core/distributed_runtime/master.cc:7] UNAVAILABLE: Connection reset by peer",
    f"{{t}}: W {_OP}:1830] RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[{{n}},{{m}}]",
    f"{{t}}: W {_OP}:1839] OSError: [Errno 24] Too many open files: '/data/shard-{{n}}'",
    "E1115 {c} {n} retry.cc:{k}] DEADLINE_EXCEEDED: Deadline Exceeded after {x:.1f} s",
)


def make_log(path: Path, *, size_bytes: int, seed: int = 1) -> int:
    """Writes a log of about that size; how many lines it has."""
    chance = random.Random(seed)
    pool = list(_lines(chance, POOL_LINES))
    chunks = [
        "".join(pool[start : start + CHUNK_LINES]).encode()
        for start in range(0, len(pool), CHUNK_LINES)
    ]
    written = lines = 0
    with path.open("wb") as file:
        while written < size_bytes:
            written += file.write(chance.choice(chunks))
            lines += CHUNK_LINES
    return lines


def _lines(chance: random.Random, count: int) -> Iterator[str]:
    for number in range(count):
        values = {
            "n": chance.randrange(100_000),
            "m": chance.randrange(10_000),
            "k": chance.randrange(32),
            "x": chance.random() * 100,
            "y": chance.random(),
            "z": chance.random() * 10,
            "c": f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.{number:06}",
        }
        values["t"] = f"2026-11-15 {values['c']}"
        yield _line(chance, number, values) + "\n"


def _line(chance: random.Random, number: int, values: dict[str, object]) -> str:
    if number % TELLING_EACH == TELLING_EACH // 2:
        return chance.choice(_TELLING).format(**values)
    says = chance.choice(_SAYINGS).format(**values)
    match chance.randrange(5):
        case 0:
            return f"{values['t']}: I {chance.choice(_SOURCES)}:{values['m']}] {says}"
        case 1:
            return f"I1115 {values['c']} {values['n']} loop.py:{values['k']}] {says}"
        case 2:
            return f"INFO:{chance.choice(_NAMES)}:{says}"
        case 3:
            bar = "=" * (number % 30)
            return (
                f"{number % 500}/500 [{bar:.<30}] - ETA: {values['k']}s - loss: {values['x']:.4f}"
            )
    return f"{values['t'][:23]} - {chance.choice(_NAMES)} - DEBUG - {says}"  # type: ignore[index]
