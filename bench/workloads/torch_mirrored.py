"""The same lockstep job as mirrored.py in PyTorch, all-reduced over gloo.

Under torchrun, or under `holdfast run --for torch`: the environment says who each process is.
"""

import time

import faulty
import torch  # type: ignore[import-not-found]  # it lives in an environment of its own
import torch.distributed as dist  # type: ignore[import-not-found]
from committed import Faults

REPORT_EVERY_STEPS = 20
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LEARNING_RATE = 0.02
LABEL_NOISE = 0.3


def main() -> None:
    told = faulty.options(stepless=())
    faults = Faults(told)
    faults.start(in_steps=True)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(told, faults)
    dist.destroy_process_group()
    print("done", flush=True)


def train(told: faulty.Options, faults: Faults) -> None:
    weights = torch.zeros(len(SLOPES), 1, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    print("training begins", flush=True)
    for step in range(1, told.steps + 1):
        loss = train_step(weights, bias)
        if step % REPORT_EVERY_STEPS == 0 or step == told.steps:
            print(f"step {step} loss {loss:.3f}", flush=True)
        faults.step_done(step)
        time.sleep(faults.step_pause_s)


def train_step(weights: torch.Tensor, bias: torch.Tensor) -> float:
    features = torch.randn(BATCH, len(SLOPES))
    labels = features @ torch.tensor(SLOPES) + 1 + LABEL_NOISE * torch.randn(BATCH, 1)
    loss = ((features @ weights + bias - labels) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for variable in (weights, bias):
            dist.all_reduce(variable.grad)
            variable.sub_(LEARNING_RATE * variable.grad / dist.get_world_size())
            variable.grad = None
    return float(loss.detach())


if __name__ == "__main__":
    main()
