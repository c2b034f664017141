"""Markdown for issues and chats: whole, and nothing in a log can become markup."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Diagnosis
from holdfast.views.markdown import cell, code, prose, report_markdown

Made = Callable[..., dict[str, Any]]
RENDER = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table")
EVIL = [
    "<script>alert(1)</script>",
    "a | b | c",
    "a \\| b",
    "`` ` ``` x",
    "`",
    "[x](javascript:alert(1)) ![y](http://evil/z.png)",
    "# not a heading",
    "- not a list",
    "1. not a list",
    "*bold* _it_ ~~gone~~ $x$",
    "    not code",
    "&lt;b&gt;",
    "\\",
    "x\\",
]


def tokens(text: str) -> list[Token]:
    flat: list[Token] = []
    for token in RENDER.parse(text):
        flat += [token, *(token.children or [])]
    return flat


def texts(text: str) -> str:
    return "".join(one.content for one in tokens(text) if one.type in ("text", "code_inline"))


def test_the_whole_story_is_there(from_logs: Made) -> None:
    text = report_markdown(from_logs())
    assert text.startswith("### ❌ disk-full at `ps:0`\n\nps:0 could not write at /data/ckpt-40")
    assert "**since:** 2026-11-15 18:02:58 UTC · **confidence:** high" in text
    assert "| 18:02:58 | `ps:0` | `OSError: [Errno 28] No space" in text
    assert "**Fix**\n\n- free space: df -h /data" in text
    assert "| 18:02:59.2 | `worker:0` | echo | `failed to connect to all addresses` |" in text
    assert "(consequences, not causes): `worker:0 worker:1`" in text
    assert text.endswith("Read: 4 files (3,601 lines).\n")


@pytest.mark.parametrize("evil", EVIL)
def test_a_line_cannot_leave_its_cell(from_logs: Made, evil: str) -> None:
    calm, told = (report_markdown(from_logs(last=last)) for last in ("Socket closed", evil))
    shape = [token.type for token in tokens(calm)]
    assert [token.type for token in tokens(told)] == shape
    said = [one.content for one in tokens(told) if one.type == "code_inline"]
    assert evil.strip().replace("\\|", "\\ |") in said


@pytest.mark.parametrize("evil", EVIL)
def test_a_sentence_stays_a_sentence(evil: str) -> None:
    for text in (prose(evil), f"- {prose(evil)}"):
        kinds = {token.type for token in tokens(text)} - {"inline", "text", "text_special"}
        kinds -= {"bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"}
        assert kinds <= {"paragraph_open", "paragraph_close"}
        assert sum(token.type == "bullet_list_open" for token in tokens(text)) <= 1


def test_nobody_is_called_and_nothing_is_linked() -> None:
    said = prose("cc @octocat fixes #12 see https://evil.test www.evil.test <!channel> a@b")
    for bad in ("@o", "#1", "://", "www.", "<!", "@b"):
        assert bad not in said
    assert "octocat" in said


def test_names_with_underscores_stay_readable() -> None:
    assert prose("set max_to_keep, not _x") == "set max_to_keep, not \\_x"


@given(st.text(max_size=60))
@settings(deadline=None)  # other tests may take the processor meanwhile
def test_a_code_span_holds_the_whole_text(text: str) -> None:
    kinds = [token for token in tokens(f"a {code(text)} b") if token.type == "code_inline"]
    assert len(kinds) == (1 if code(text).startswith("`") else 0)
    table = f"| a | b |\n| --- | --- |\n| {cell(text)} | x |"
    assert sum(token.type == "td_open" for token in tokens(table)) == 2


def test_cannot_tell_shows_the_last_words_in_a_fence(
    unexplained: tuple[Diagnosis, Evidence], from_logs: Made
) -> None:
    made = from_logs() | {"verdict": "cannot-tell", "findings": [], "timeline": []}
    made["last_words"] = {"worker-1.err": ["```", "</details> @all", "# x"]}
    text = report_markdown(made | {"broken": {"x": "KeyError()"}, "healthy": ["ps:0"]})
    (fence,) = [token for token in tokens(text) if token.type == "fence"]
    assert fence.content == "```\n</details> @all\n# x\n"
    assert "### ❓ Cannot tell" in text
    assert "our rule x crashed" in text


def test_what_is_unusual_is_told(from_logs: Made) -> None:
    made = from_logs() | {"verdict": "cannot-tell", "findings": [], "last_words": {}}
    made["unusual"] = [made["timeline"][0] | {"why": "the first trouble"}]
    assert "**Unusual:** the first trouble\n\n| when | who |" in report_markdown(made)
