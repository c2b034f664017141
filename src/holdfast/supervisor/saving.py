"""A look into the job's checkpoints once it has ended: did it save after it was asked to end?"""

import time
from collections.abc import Sequence
from pathlib import Path

from holdfast.coordinator.loop import complain
from holdfast.logdir.checkpoints import find_checkpoints
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact
from holdfast.recover.saving import request_in, saved_after
from holdfast.recover.trouble import trouble_of
from holdfast.supervisor.held import Held


def look_for_saved(held: Held, facts: Sequence[Fact]) -> list[Fact]:
    """Nothing, where nobody asked for the end, or where nobody said where checkpoints are kept."""
    asked = request_in(facts)
    folder = held.plan.checkpoint_dir
    if asked is None or not folder:
        return []
    try:
        found = find_checkpoints(Path(folder))
    except (HoldfastError, OSError) as error:
        complain(f"the checkpoints could not be looked at: {error}")
        return []
    saved = saved_after(
        asked,
        found,
        at_s=held.clock.at_s(),
        began_unix_s=time.time() - held.clock.at_s(),  # what a journal says is a little later
        reached_step=trouble_of(facts).step,
    )
    return [saved]
