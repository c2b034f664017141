"""What a program told of itself, in one line for a person."""

from collections.abc import Callable
from typing import Any, Final

from holdfast.model import told_facts as facts
from holdfast.model.facts import Fact
from holdfast.model.told_differences import difference_text
from holdfast.model.tracebacks import own_frames


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


def _left(fact: facts.ExceptionLeft) -> str:
    said = fact.message.strip().partition("\n")[0]
    kind = fact.exception.rpartition(".")[2]
    frames = own_frames(fact.frames) or list(fact.frames)
    where = f" (raised at {frames[-1].partition(': ')[0]})" if frames else ""
    parts = [
        f" in op {fact.op}" if fact.op else "",
        f" in thread {fact.thread}" if fact.thread != facts.MAIN_THREAD else "",
        f" at step {fact.step}" if fact.step >= 0 else "",
        f", about {', '.join(fact.named)}" if fact.named else "",
        f", from {fact.came_from[0]}" if fact.came_from else "",
    ]
    whole = f"{kind}: {said}" if said else kind
    return f"it wrote down {whole}{where}{''.join(parts)}"


SAY_TOLD: Final[dict[type[Fact], Callable[[Any], str]]] = {
    facts.DifferenceTold: lambda fact: f"not the same in all tasks: {difference_text(fact)}",
    facts.ErrorTold: _error,
    facts.ExceptionLeft: _left,
    facts.LossTold: _loss,
}
