"""Whole jobs that fail, as stories: facts in, `>` decisions out. UPDATE=1 rewrites the decisions.

At a line `?` all have ended, or might as well have, and somebody decides by all that is known; at
a line `? at once` tasks still live. The decision becomes a fact of the journal.
A line `policy:` comes before it, if it is not the usual one. Lines with `#` are for the reader.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.codec import decode, encode
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.recover.by_journal import decide_by_journal, decide_while_it_runs
from holdfast.recover.decision import Decision
from holdfast.recover.fresh import since_restart
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


def decided(facts: Sequence[Fact], policy: Policy, *, at_once: bool) -> Decision | None:
    if not at_once:
        return decide_by_journal(facts, policy)
    findings = diagnose(Evidence(since_restart(facts))).findings
    return decide_while_it_runs(facts, findings, policy, at_s=facts[-1].at_s)


def retell(story: str) -> str:
    facts: list[Fact] = []
    told: list[str] = []
    for line in story.splitlines():
        if line.startswith(">"):
            continue
        told.append(line)
        if line.startswith("{"):
            facts.append(decode(line))
        if line.startswith("?"):
            decision = decided(facts, policy_of(story), at_once=line == "? at once")
            told.append(f"> {decision.in_words() if decision else 'nothing'}")
            last = facts[-1]
            if decision is not None:
                fact = decision.to_fact(at_s=last.at_s, host=last.host, attempt=last.attempt)
                # Whoever takes over reads it again: the next decision is made from that.
                facts.append(decode(encode(fact)))
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
