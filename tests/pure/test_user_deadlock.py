"""Whose lock it is that a main thread waits for: its own code's, or its framework's."""

import pytest
from tests.pure.stillness import TF, TRAIN, W0, W1, attempt, look, thread

from holdfast.diagnose import diagnose
from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import TaskStill

POOL = (
    "lib/python3.11/multiprocessing/pool.py:768 get: self.wait(timeout)",
    "lib/python3.11/threading.py:327 wait: waiter.acquire()",
)
OWN_CALL = "/srv/train.py:40 gather: results = pool.map(load, files)"
ITS_CALL = f"{TF}/cross_device_ops.py:99 batch_reduce: results = pool.map(reduce, values)"


@pytest.mark.parametrize(("call", "is_own"), [(OWN_CALL, True), (ITS_CALL, False)])
def test_a_lock_of_its_framework_is_no_deadlock_of_its_own(call: str, *, is_own: bool) -> None:
    waits = thread(TRAIN, call, *POOL, blocked="waker")
    still = TaskStill(
        at_s=104.0,
        host="host-a",
        task=W0,
        still_s=8.0,
        usual_s=1.0,
        sign="main thread",
        cpu_share=0.0,
    )
    facts = [attempt(W0, W1), look(waits, at_s=100.0), look(waits, at_s=103.0), still]
    found = {finding.name for finding in diagnose(Evidence(facts)).findings}
    assert ("user-deadlock" in found) is is_own
