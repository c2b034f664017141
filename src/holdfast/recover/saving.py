"""Whether a job saved its training after it was asked to end. Pure."""

from collections.abc import Iterable

from holdfast.model.facts import Fact, StopAsked
from holdfast.model.recovery_facts import CheckpointSaved
from holdfast.recover.checkpoints import Checkpoint

# A file is dated by the kernel's tick, and by the clock of whoever keeps the files.
TICK_S = 0.02


def request_in(facts: Iterable[Fact]) -> StopAsked | None:
    """The first wish for an end, if there was time to save after it, and nobody looked yet."""
    known = tuple(facts)
    asked = next((fact for fact in known if isinstance(fact, StopAsked)), None)
    if asked is None or asked.now or any(isinstance(fact, CheckpointSaved) for fact in known):
        return None
    return asked


def saved_after(
    asked: StopAsked,
    found: Iterable[Checkpoint],
    *,
    at_s: float,
    began_unix_s: float,
    reached_step: int,
) -> CheckpointSaved:
    """The last whole checkpoint of those that were written since somebody asked for the end."""
    since_unix_s = began_unix_s + asked.at_s - TICK_S
    fresh = (one for one in found if not one.damage and one.written_unix_s >= since_unix_s)
    last = max(fresh, key=lambda one: one.written_unix_s, default=None)
    return CheckpointSaved(
        at_s=at_s,
        host=asked.host,
        attempt=asked.attempt,
        asked_s=asked.at_s,
        path=last.path if last else "",
        form=last.form if last else "",
        step=last.step if last else -1,
        written_s=round(last.written_unix_s - began_unix_s, 3) if last else -1.0,
        reached_step=reached_step,
    )
