"""Whole jobs that fail, as stories: facts in, `>` decisions out. UPDATE=1 rewrites the decisions.

At a line `?` somebody decides by all that is known; the decision becomes a fact of the journal.
A line `policy:` comes before it, if it is not the usual one. Lines with `#` are for the reader.
"""

import os
from pathlib import Path

import pytest

from holdfast.model.codec import decode, encode
from holdfast.model.facts import Fact
from holdfast.recover.by_journal import decide_by_journal
from holdfast.recover.policy import OnFailure, Policy

STORIES = sorted((Path(__file__).parent.parent / "lives" / "recovery").glob("*.txt"))


def policy_of(story: str) -> Policy:
    line = next((line for line in story.splitlines() if line.startswith("policy:")), "policy:")
    given = dict(word.split("=") for word in line.removeprefix("policy:").split())
    return Policy(
        on_failure=OnFailure(given.get("on_failure", "recover")),
        relaunches_max=int(given.get("relaunches_max", "3")),
        replaces_hosts="replaces_hosts" in given,
    )


def retell(story: str) -> str:
    facts: list[Fact] = []
    told: list[str] = []
    for line in story.splitlines():
        if line.startswith(">"):
            continue
        told.append(line)
        if line.startswith("{"):
            facts.append(decode(line))
        if line == "?":
            decision = decide_by_journal(facts, policy_of(story))
            last = facts[-1]
            fact = decision.to_fact(at_s=last.at_s, host=last.host, attempt=last.attempt)
            # Whoever takes over reads it again: the next decision is made from that.
            facts.append(decode(encode(fact)))
            told.append(f"> {decision.in_words()}")
    return "\n".join(told) + "\n"


def test_there_are_stories() -> None:
    assert STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    story = path.read_text()
    if os.environ.get("UPDATE"):
        story = retell(story)
        path.write_text(story)
    assert retell(story) == story
    assert "\n> " in story, "nothing was decided"
