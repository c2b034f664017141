"""Starts a parameter server and a worker, each with a TF_CONFIG that is a printed dict."""

import json
import multiprocessing
import os

CLUSTER = {"ps": ["localhost:23461"], "worker": ["localhost:23462"]}


def task(kind: str, index: int) -> None:
    os.environ["TF_CONFIG"] = str({"cluster": CLUSTER, "task": {"type": kind, "index": index}})
    config = json.loads(os.environ["TF_CONFIG"])
    print(f"{config['task']} trains", flush=True)


def main() -> None:
    tasks = [multiprocessing.Process(target=task, args=(kind, 0)) for kind in ("ps", "worker")]
    for one in tasks:
        one.start()
        one.join()
    print("training finished", flush=True)


if __name__ == "__main__":
    main()
