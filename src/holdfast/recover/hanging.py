"""Whether a whole job stands still over one of its tasks: only then is it ended for that. Pure."""

from holdfast.model.cluster import TaskId
from holdfast.recover.strategy import Strategy, dooms
from holdfast.recover.trouble import Trouble


def stands_still(
    trouble: Trouble, *, strategy: Strategy, culprit: TaskId | None, since_s: float
) -> bool:
    """Steps since then prove that it does not; where none are known, the strategy must tell.

    Steps are written down every half a minute: whoever told some before may train on, unless
    it is known to stand still. Each step of a MultiWorkerMirrored job needs everybody.
    """
    stepped_s = {task: at_s for task, at_s in trouble.stepped_s.items() if task.trains}
    if any(at_s > since_s for at_s in stepped_s.values()):
        return False
    if strategy is Strategy.MIRRORED or trouble.training <= {culprit}:
        return True
    others = (stepped_s.keys() & trouble.training) - {culprit}
    if others:
        return others <= trouble.still
    if strategy is Strategy.UNKNOWN or culprit is None:
        return False
    return dooms(culprit, trouble.tasks)
