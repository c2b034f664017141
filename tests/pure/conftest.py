"""The pure half has no clock, so neither have its tests: a loaded machine fails none of them."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from holdfast.model.facts import Fact
from holdfast.model.hearing import ALSO_HEARS, hear_text, settle
from holdfast.model.pattern import AnyOf, Pattern

settings.register_profile(
    "pure", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pure")

TELLING = AnyOf((*ALSO_HEARS, Pattern("Connection refused"), Pattern("Killed")))


@pytest.fixture(scope="session")
def settled() -> Callable[..., list[Fact]]:
    """The facts in some logs: `worker_1__err` is the file worker-1.err."""

    def settled(**logs: str) -> list[Fact]:
        names = {name: name.replace("__", ".").replace("_", "-") for name in logs}
        heard = [hear_text(names[name], text.encode(), TELLING) for name, text in logs.items()]
        return settle(heard)

    return settled
