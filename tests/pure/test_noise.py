"""Frightening lines that mean nothing are known as such, and nothing else is."""

from pathlib import Path

import pytest

from holdfast.diagnose import catalogue
from holdfast.model.noise import NOISE, is_noise, noise_in, said_to_be_harmless
from holdfast.model.noise.entry import Noise

LINES = Path(__file__).parent.parent / "noise"
HARMLESS = (LINES / "harmless.log").read_text().splitlines()
# Words that resemble noise and tell of a fault.
TELLING = (LINES / "telling.log").read_text().splitlines()
KINDS = [kind for kinds in NOISE.values() for kind in kinds]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_is_known(line: str) -> None:
    assert is_noise(line)


@pytest.mark.parametrize("line", TELLING)
def test_a_telling_line_is_not_hidden(line: str) -> None:
    assert not is_noise(line)


def test_a_message_of_several_lines_is_never_hidden() -> None:
    assert is_noise(HARMLESS[0] + "\n")
    assert not is_noise(HARMLESS[0] + "\n" + TELLING[0])


def test_noise_is_counted_by_what_it_is() -> None:
    told = noise_in([HARMLESS[1], HARMLESS[0], *TELLING, HARMLESS[0]])
    assert list(told.values()) == [2, 1]
    assert "registered" not in " ".join(told), "it says why, not what"


def test_every_kind_is_told_with_its_reason() -> None:
    page = said_to_be_harmless()
    assert all(f"`{kind.pattern.text}`" in page and kind.why in page for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.pattern.text[:40])
def test_a_reason_is_one_phrase(kind: Noise) -> None:
    assert kind.why
    assert not kind.why.endswith(".")
    assert "\n" not in kind.why


def test_no_kind_is_listed_twice() -> None:
    texts = [kind.pattern.text for kind in KINDS]
    assert len(set(texts)) == len(texts)


def test_noise_is_no_cause() -> None:
    assert "noise" not in catalogue()
