"""DistributedDataParallel in PyTorch, over gloo."""

import os

import torch  # type: ignore[import-not-found]  # it lives in an environment of its own
import torch.distributed as dist  # type: ignore[import-not-found]
from act import BATCH, FEATURES, Act


def main() -> None:
    act = Act(f"worker:{os.environ['RANK']}")
    act.start()
    torch.set_num_threads(1)
    act.enter(0)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(FEATURES, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    act.done(0)
    for step in range(1, act.plan.steps + 1):
        act.own_part(step)
        features = torch.randn(BATCH, FEATURES)
        act.enter(step)
        optimizer.zero_grad()
        loss = ((model(features) - features.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        act.after_step(step, loss.item())
    act.end()
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
