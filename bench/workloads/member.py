"""Who a task is among its equals, for frameworks that count processes rather than name roles."""

import json
import os
from typing import NamedTuple


class Member(NamedTuple):
    number: int
    total: int
    first_address: str


def from_tf_config() -> Member:
    """As `holdfast run` hands it to every task."""
    config = json.loads(os.environ["TF_CONFIG"])
    workers = config["cluster"]["worker"]
    return Member(config["task"]["index"], len(workers), workers[0])
