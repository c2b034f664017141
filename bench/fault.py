"""How a start-up can go wrong: the shape of the files in bench/faults."""

import copy
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench.starts import Start, become

ANYBODY = "198.51.100.1"  # an address that documentation uses and nobody has
Config = dict[str, Any]  # a TF_CONFIG
Change = Callable[[str, Config], Config | str | None]


class Effect(StrEnum):
    """What TensorFlow itself makes of it."""

    TRAINS = "trains"  # to the end, in spite of it
    BLOCKS = "blocks"  # nobody ends, and nothing is trained
    DIES = "dies"  # some task ends badly by itself


@dataclass(frozen=True, slots=True)
class Told:
    """What must be said of it: any of these causes, with any of these culprits."""

    causes: tuple[str, ...]
    culprits: tuple[str | None, ...]

    @property
    def silent(self) -> bool:
        return not self.causes

    def fits(self, cause: str, culprit: str | None) -> bool:
        return cause in self.causes and culprit in self.culprits

    def __str__(self) -> str:
        if self.silent:
            return "nothing"
        return f"{'/'.join(self.causes)} {'/'.join(map(str, self.culprits))}"


def told(causes: str, *culprits: str | None) -> Told:
    """`told("refused never-started", "worker:1")`: one of these, and of whom."""
    return Told(tuple(causes.split()), culprits)


SILENT = Told((), ())


def as_given(_task: str, config: Config) -> Config:
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which the start of a cluster differs from a healthy one."""

    tasks: tuple[str, ...] = ()  # whose environment and start differ
    effect: Mapping[str, Effect]  # per workload; those not named are not tried
    config: Change = as_given  # what each task gets for TF_CONFIG; None unsets it
    env: Mapping[str, str] = field(default_factory=dict)
    start: Start = become
    beside: Callable[[Config], list[str]] | None = None  # a program that runs before the task
    steps: int = 60  # enough to be still at it when the fault comes
    # What Holdfast must say: by way (check, run, attach), or by way/workload where that differs.
    # A way that is not named is not judged.
    says: Mapping[str, Told] = field(default_factory=dict)

    def told(self, way: str, workload: str) -> Told | None:
        return self.says.get(f"{way}/{workload}", self.says.get(way))

    def config_of(self, task: str, config: Config) -> Config | str | None:
        return self.config(task, copy.deepcopy(config))


def address_of(config: Config, task: str) -> str:
    role, _, index = task.partition(":")
    found: str = config["cluster"][role][int(index)]
    return found


def with_address(config: Config, task: str, address: str) -> Config:
    role, _, index = task.partition(":")
    config["cluster"][role][int(index)] = address
    return config


def with_own_address(config: Config) -> Config:
    """This host's address in the network instead of loopback, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect((ANYBODY, 9))  # sends nothing: only asks for a route
        except OSError:
            return config
        here = trial.getsockname()[0]
    for addresses in config["cluster"].values():
        addresses[:] = [address.replace("127.0.0.1", here) for address in addresses]
    return config


def closed_port(address: str) -> str:
    """The same host and a port on which nobody listens, below all those that are handed out."""
    host, _, port = address.rpartition(":")
    return f"{host}:{15_000 + int(port) % 5_000}"


def one_definition(
    spoil: Callable[[Config], Config | str | None],
    *,
    causes: str,
    checked: Told | None = None,
    mirrored: Effect = Effect.DIES,
    others: Effect = Effect.DIES,
) -> Fault:
    """worker:1 alone has a TF_CONFIG that is not right; without causes it does no harm.

    From outside, a task that died of it looks as if it had never been started.
    """

    def changed(task: str, config: Config) -> Config | str | None:
        return spoil(config) if task == "worker:1" else config

    seen = {
        "run": told(causes, "worker:1"),
        "attach": told(f"never-started refused {causes}", "worker:1"),
    }
    says = {"check": checked, **seen} if causes else dict.fromkeys(("check", *seen), SILENT)
    return Fault(
        tasks=("worker:1",),
        config=changed,
        effect={"mirrored": mirrored, "parameter_server": others, "session": others},
        says={way: words for way, words in says.items() if words},
    )
