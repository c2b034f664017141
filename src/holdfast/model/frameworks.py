"""Packages that run the steps of a training, and wait in them for other tasks."""

FRAMEWORKS = (
    *("tensorflow", "tensorflow_estimator", "keras", "tf_keras", "tf_slim"),
    *("torch", "lightning", "pytorch_lightning", "accelerate", "deepspeed"),
    *("jax", "jaxlib", "flax", "horovod", "mpi4py", "mxnet", "ray"),
)
PLACES = ("site-packages/", "dist-packages/")
_WHERE = tuple(f"{place}{name}/" for place in PLACES for name in FRAMEWORKS)


def is_of_framework(frame: str) -> bool:
    """Whether `file:line function: code` stands in one of them, wherever it is installed."""
    file = frame.partition(": ")[0]
    return any(where in file for where in _WHERE)
