"""The driver of a GPU reports a fault of it: an Xid.

## What you see
CUDA errors that nothing in the program explains, a task that hangs in a kernel, or `Unable to
determine the device handle`. Sometimes only that one host is slow.

## Why it happens
Memory of the GPU that is broken (Xid 48, 63, 94), a GPU that has fallen off the bus (79), power
or heat; but also a program that reads where it must not (13, 31, 43).

## How to confirm it by hand
`dmesg -T | grep Xid`; `nvidia-smi -q`. What a number means is in NVIDIA's list of Xid errors.

## What to do
Take the GPU or the host out of use, and start again from the last checkpoint. Of the numbers that
are the program's own fault, look at the program.

## When this accusation would be wrong
Some of the numbers only note what was repaired. So this is an error only when a task failed over
it or stood still soon after; else it is a warning.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.hardware import device_proof, harmed_after
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import KernelSaid

FAILED = Pattern(r"CUDA_ERROR_|CUDNN_STATUS_|illegal memory access|Failed to query event")


def detect(evidence: Evidence) -> Iterator[Proof]:
    told: set[tuple[str, str]] = set()
    for said in evidence.of(KernelSaid):
        if said.about == "gpu" and (said.host, said.device) not in told:
            told.add((said.host, said.device))
            yield _proof(evidence, said)


def _proof(evidence: Evidence, said: KernelSaid) -> Proof:
    suffering = harmed_after(evidence, said, FAILED)
    harmed = next((fact for fact in suffering if said.task in {None, fact.task}), None)
    culprit = harmed.task if harmed else said.task
    return device_proof(
        said,
        harmed,
        culprit,
        says=f"the driver on {said.host} reports a fault of GPU {said.device}",
        do=(
            f"on {said.host}: dmesg -T | grep Xid; nvidia-smi -q -i {said.device}",
            "take the GPU out of use, then start again from the last checkpoint",
        ),
    )


cause = Cause(
    family="gpu-fault",
    detect=detect,
    hears=(FAILED,),
    remedy=AskHuman(),
    severity=Severity.WARNING,
)
