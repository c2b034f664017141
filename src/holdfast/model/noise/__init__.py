"""Frightening lines that mean nothing: known, folded away, and never an accusation.

A line is noise only if it means nothing in every log. Where the same words sometimes tell of a
fault, they are no noise, and weighing them is the work of `diagnose`.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache

from holdfast.model.noise.entry import Noise
from holdfast.model.noise.of_accelerators import ACCELERATORS
from holdfast.model.noise.of_launchers import LAUNCHERS
from holdfast.model.noise.of_libraries import LIBRARIES
from holdfast.model.noise.of_pytorch import PYTORCH
from holdfast.model.noise.of_tensorflow import TENSORFLOW
from holdfast.model.pattern import AnyOf, WhichOf

NOISE: dict[str, tuple[Noise, ...]] = {
    "TensorFlow": TENSORFLOW,
    "GPUs, NCCL, JAX": ACCELERATORS,
    "PyTorch": PYTORCH,
    "MPI, Slurm, gRPC, Ray": LAUNCHERS,
    "Python and its libraries, Hadoop": LIBRARIES,
}


def is_noise(text: str) -> bool:
    """Whether a line is known to mean nothing, however it sounds."""
    # What goes on below may be no noise: a message of several lines is never folded away.
    return "\n" not in text.strip("\n") and _any().first(text.encode(), 0) >= 0


def noise_in(lines: Iterable[str]) -> dict[str, int]:
    """Why lines are harmless, and how many of each kind there are, most of them first."""
    told: Counter[str] = Counter()
    for line in filter(is_noise, lines):
        kinds = [_all()[place].why for place in _which().matching(line)]
        told.update(kinds[:1])
    return dict(told.most_common())


def said_to_be_harmless() -> str:
    """The page that lists all of it, for a person."""
    lines = ["Lines that sound bad and mean nothing. They never accuse anybody."]
    for program, kinds in NOISE.items():
        lines += ["", f"## {program}"]
        for why in dict.fromkeys(kind.why for kind in kinds):
            shown = [f"`{kind.pattern.text}`" for kind in kinds if kind.why == why]
            lines += [f"- {why}:", *(f"  - {pattern}" for pattern in shown)]
    return "\n".join(lines)


@cache
def _all() -> tuple[Noise, ...]:
    return tuple(kind for kinds in NOISE.values() for kind in kinds)


@cache
def _any() -> AnyOf:
    return AnyOf(kind.pattern for kind in _all())


@cache
def _which() -> WhichOf:
    return WhichOf(kind.pattern for kind in _all())
