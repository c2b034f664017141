"""What a program told of itself, in one line for a person."""

from collections.abc import Callable
from typing import Any, Final

from holdfast.model import told_facts as facts
from holdfast.model.facts import Fact
from holdfast.model.origin import Origin, origin_of
from holdfast.model.told_differences import difference_text


def _loss(fact: facts.LossTold) -> str:
    match fact.state:
        case "nan":
            return f"its {fact.name} is not a number since step {fact.since_step}"
        case "diverged":
            was = f"at the beginning it was {fact.first:g}"
            return f"its {fact.name} is {fact.loss:g} at step {fact.step}; {was}"
    return f"its {fact.name} is a number again at step {fact.step}"


def _error(fact: facts.ErrorTold) -> str:
    of = f" of {fact.op}" if fact.op else ""
    about = f", about {', '.join(fact.named)}" if fact.named else ""
    then = "tried again" if fact.again else f"given up after {fact.tries}"
    kind = fact.exception.rpartition(".")[2]
    return f"{kind}{of}{about}, {then}: {fact.message.partition(chr(10))[0]}"


def _logged(fact: facts.ExceptionLogged) -> str:
    origin = origin_of(fact)
    often = f", {fact.times} times" if fact.times > 1 else ""
    return f"it logged {origin.text}{raised_at(origin, fact.frames)}{often}, in {fact.path}"


def _left(fact: facts.ExceptionLeft) -> str:
    origin = origin_of(fact)
    where = raised_at(origin, fact.frames)
    parts = [
        f" in op {fact.op}" if fact.op else "",
        f" in thread {fact.thread}" if fact.thread != facts.MAIN_THREAD else "",
        f" at step {fact.step}" if fact.step >= 0 else "",
        f", about {', '.join(fact.named)}" if fact.named else "",
        f", from {fact.came_from[0]}" if fact.came_from else "",
        f", of {fact.file} (mode {fact.mode})" if fact.file else "",
    ]
    return f"it wrote down {origin.text}{where}{''.join(parts)}"


def raised_at(origin: Origin, frames: tuple[str, ...]) -> str:
    """The line of the program that led to it; where none did, the innermost of all."""
    frame = origin.frame or next(reversed(frames), "")
    return f" (raised at {frame.partition(': ')[0].rstrip()})" if frame else ""


SAY_TOLD: Final[dict[type[Fact], Callable[[Any], str]]] = {
    facts.DifferenceTold: lambda fact: f"not the same in all tasks: {difference_text(fact)}",
    facts.ErrorTold: _error,
    facts.ExceptionLeft: _left,
    facts.ExceptionLogged: _logged,
    facts.LossTold: _loss,
}
