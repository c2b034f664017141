"""Composes a job from a seed: the same seed is the same job, as long as the grammar is the same."""

import random
from dataclasses import dataclass
from typing import TypeVar

from bench.wild.grammar import PROGRAMS, WAYS, Kind, Program

T = TypeVar("T")
KINDS = {Kind.PAUSES: 30, Kind.STANDS_STILL: 50, Kind.DIES: 20}
PACES_S = {0.02: 20, 0.05: 25, 0.1: 20, 0.3: 15, 1.0: 12, 3.0: 5, 8.0: 2, 20.0: 1}
LOADS = {"none": 86, "hogs": 7, "observer-niced": 4, "observer-stopped": 3}
PHASES = {"start": 12, "first": 18, "middle": 45, "evaluation": 10, "save": 7, "end": 8}
WORDS = {"": 40, "step": 24, "epoch": 12, "bracket": 12, "words": 12}
PLAIN, INTERRUPTED = "plain", "interrupted"  # healthy, and nothing happens but its end
PLAIN_SHARE = 0.2  # of the healthy ones, each
MIDDLE_S = (2.0, 10.0)  # into the training
PAUSE_S = (8.0, 25.0)
HEALTHY_S = 12.0  # of training, without the pause
STEPS_WITHOUT_END = 10_000_000
COMPUTES_SHARE, UNEVEN_SHARE = 0.15, 0.3
COMPUTES_S_MAX = 0.3  # several jobs at once share the cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    seed: int
    program: str
    roles: tuple[tuple[str, int], ...]
    kind: Kind
    way: str
    chosen: str  # the task
    where: str
    phase: str
    at_step: int
    pause_s: float
    steps: int
    pace_s: float
    uneven: bool
    computes: bool
    words: str
    evaluate_every: int
    load: str

    @property
    def tasks(self) -> list[str]:
        return [f"{role}:{number}" for role, count in self.roles for number in range(count)]

    @property
    def is_faulty(self) -> bool:
        return self.kind is not Kind.PAUSES

    @property
    def may_be_error(self) -> bool:
        """At once: it cannot end by itself."""
        return self.is_faulty and WAYS[self.kind][self.way].cannot_end

    @property
    def is_lone(self) -> bool:
        """Nobody waits for it: it is the only one, or the others go on without it."""
        serves = self.chosen.partition(":")[0] in PROGRAMS[self.program].serving
        return len(self.tasks) == 1 or not (PROGRAMS[self.program].lockstep or serves)

    @property
    def line(self) -> str:
        size = "+".join(f"{count} {role}" for role, count in self.roles)
        pace = f"{self.pace_s:g} s {'uneven' if self.uneven else 'even'}"
        pace += " computing" if self.computes else ""
        when = f"{self.phase}, step {self.at_step}, {self.where}"
        pause = f" {self.pause_s:.0f} s" if self.pause_s else ""
        says = f"prints {self.words}" if self.words else "prints no steps"
        return (
            f"{self.seed}: {self.program} ({size}), {pace}, {says};"
            f" {self.chosen} {self.kind}: {self.way}{pause} ({when}); load {self.load}"
        )


def compose(seed: int) -> Job:
    chance = random.Random(seed)
    kind = _drawn(chance, KINDS)
    name = _drawn(chance, {name: program.weight for name, program in PROGRAMS.items()})
    program = PROGRAMS[name]
    roles = chance.choice(program.roles)
    pace_s = _drawn(chance, PACES_S)
    chosen = chance.choice([f"{role}:{n}" for role, count in roles for n in range(count)])
    way, phase = _way(chance, kind, program, roles, chosen)
    where = _where(chance, kind, program, way, phase, serves=_serves(program, chosen))
    at_step = _at_step(chance, phase, pace_s)
    evaluate_every = at_step if phase in {"evaluation", "save"} else 0
    if evaluate_every > 3:
        evaluate_every = max(1, at_step // chance.randint(1, 3))
    ends = kind is Kind.PAUSES and way != INTERRUPTED
    return Job(
        seed=seed,
        program=name,
        roles=roles,
        kind=kind,
        way=way,
        chosen=chosen,
        where=where,
        phase=phase,
        at_step=at_step,
        pause_s=0.0 if kind is not Kind.PAUSES else round(chance.uniform(*PAUSE_S), 1),
        steps=_steps(program, pace_s, at_step) if ends or phase == "end" else STEPS_WITHOUT_END,
        pace_s=pace_s,
        uneven=chance.random() < UNEVEN_SHARE,
        computes=chance.random() < COMPUTES_SHARE and pace_s <= COMPUTES_S_MAX,
        words=_drawn(chance, WORDS),
        evaluate_every=evaluate_every,
        load=_drawn(chance, LOADS),
    )


def _way(
    chance: random.Random,
    kind: Kind,
    program: Program,
    roles: tuple[tuple[str, int], ...],
    chosen: str,
) -> tuple[str, str]:
    """What it does, and in which phase; a task that serves others can only do some of it."""
    if kind is Kind.PAUSES and chance.random() < 2 * PLAIN_SHARE:
        return chance.choice([PLAIN, INTERRUPTED]), "middle"
    serves = _serves(program, chosen)
    lacks = set() if program.has_numpy else {"numpy"}
    lacks |= set() if program.lockstep and sum(count for _, count in roles) > 1 else {"others"}
    phase = _drawn(chance, {"start": 1, "middle": 2} if serves else PHASES)
    fitting = [
        name
        for name, way in sorted(WAYS[kind].items())
        if not way.needs & lacks
        and (not way.phases or phase in way.phases)
        and (way.by_thread or not serves or phase == "start")
    ]
    if not fitting:  # a server has nothing to pause for
        return PLAIN, "middle"
    return chance.choice(fitting), phase


def _where(
    chance: random.Random, kind: Kind, program: Program, way: str, phase: str, *, serves: bool
) -> str:
    """Only a thing that lasts can be seen in a thread; what comes after training is in the loop."""
    if serves or kind is Kind.PAUSES or phase not in {"first", "middle"}:
        return "loop"
    found = chance.choice(program.where)
    needs_loop = "loop" in WAYS[kind][way].needs or (kind is Kind.DIES and found == "thread")
    return "loop" if needs_loop else found


def _at_step(chance: random.Random, phase: str, pace_s: float) -> int:
    into_s = chance.uniform(*MIDDLE_S)
    early = chance.randint(1, 5)
    match phase:
        case "start":
            return 0
        case "first":
            return min(early, 1 + int(25 / pace_s))
        case "end":
            return max(2, round(into_s / pace_s))
        case _:
            return max(2 if pace_s >= 8 else 6, round(into_s / (pace_s + 0.01)))


def _steps(program: Program, pace_s: float, at_step: int) -> int:
    after = max(2, round(HEALTHY_S / 2 / pace_s))
    return max(program.steps_least, at_step + after)


def _serves(program: Program, chosen: str) -> bool:
    return chosen.partition(":")[0] in program.serving


def _drawn(chance: random.Random, weights: dict[T, int]) -> T:
    return chance.choices(list(weights), list(weights.values()))[0]
