"""Secrets taken out of what a task leaves behind: values that stand beside a telling name."""

from __future__ import annotations

MARK = "«redacted»"
TELLING = ("password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "pwd")
TELLING_KEYS = ("api", "access", "private", "auth", "account", "secret", "session", "ssh", "wandb")
_NAME_EXTRA = "_-."
_ENDS = " \t\r\n\"'&"


def without_secrets(text: str) -> str:
    """`password=…`, `"token": "…"`, `--api-key …`, `Bearer …` and `//user:…@host` lose theirs."""
    pieces: list[str] = []
    end = 0
    for start, stop in _places(text):
        if start >= end and stop > start:
            pieces += [text[end:start], MARK]
            end = stop
    return "".join([*pieces, text[end:]])


def _places(text: str) -> list[tuple[int, int]]:
    """Where secrets stand, in their order."""
    found: list[tuple[int, int]] = []
    for at, char in enumerate(text):
        if char in "=: " and _is_telling(_name_before(text, at), by_space=char == " "):
            start = at + 1
            while text[start : start + 1] in (" ", "=", ">", ":"):
                start += 1
            found.append(_value_at(text, start))
        elif char == "@":
            start = max(text.rfind(sign, 0, at) for sign in ("://", " ", "\n", "'", '"'))
            if text.startswith("://", start):
                found.append((start + 3, at))
    return found


def _value_at(text: str, start: int) -> tuple[int, int]:
    quote = text[start : start + 1]
    if quote in ("'", '"') and quote:
        stop = text.find(quote, start + 1)
        return start + 1, stop if stop > 0 else len(text)
    stop = start
    while stop < len(text) and text[stop] not in _ENDS:
        stop += 1
    return start, stop


def _name_before(text: str, at: int) -> str:
    stop = at
    while stop and text[stop - 1] in "\"'] ":
        stop -= 1
    start = stop
    while start and (text[start - 1].isalnum() or text[start - 1] in _NAME_EXTRA):
        start -= 1
    return text[start:stop].lower()


def _is_telling(name: str, *, by_space: bool) -> bool:
    if by_space:  # a flag, or a header: a sentence may speak of passwords
        return name == "bearer" or (name.startswith("-") and _is_telling(name, by_space=False))
    if name.endswith("key"):
        return any(word in name for word in TELLING_KEYS)
    return any(word in name for word in TELLING)
