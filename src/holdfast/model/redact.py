"""Secrets taken out of text before anybody else may read it."""

from typing import Any, Final

import re2

_WORDS: Final = (
    r"(?:[\w.-]*[_.-])?(?:"
    r"(?:api|access|secret|private|auth|account|storage|encryption|signing|session|service|ssh"
    r"|license|master|deploy|shared|subscription)[_.-]?key"
    r"|(?:[a-z]+)?(?:password|passwd|passphrase|secret|credentials?)"
    r"|(?:[a-z]+)?token|apikey|pgpass|x-(?:amz|goog)-signature)"
)
_ENVIRONMENT_KEY: Final = r"[A-Z0-9]+(?:_[A-Z0-9]+)*_(?:KEY|PWD|PASS|PSWD|CREDS|PAT)"
_NAME: Final = rf"(?:(?i:{_WORDS})|{_ENVIRONMENT_KEY})"
_VALUE: Final = (
    r"""(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?"""
    r"""|[^\s"'&]*[^\s"'&,;)}\]])"""
)
_PRIVATE_KEY: Final = (
    r"(?s)()(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY-----|.*))"
)
_AUTHORIZATION: Final = (
    r"""(?i)((?:\bbearer|authorization\\?["']?\s*[:=]\s*\\?["']?\w+)\s+)([a-z0-9+/=_.~-]{8,})"""
)

# Words of language models, not of locksmiths.
_HARMLESS: Final = re2.compile(
    r"(?i)(?:^|[_.-])(?:pad|eos|bos|unk|mask|sep|cls|begin|end|start|stop|next|special|image|oov"
    r"|unexpected)[_-]?token$"
)
_MARK: Final = re2.compile(r"«redacted:[a-z-]+»")

# Each replaces its last group. From the most particular to the most general.
_KINDS: Final = tuple(
    (kind, re2.compile(pattern))
    for kind, pattern in (
        ("private-key", _PRIVATE_KEY),
        ("jwt", r"()(eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?)"),
        ("aws-key", r"()((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\w*)"),
        ("github-token", r"()(gh[pousr]_[A-Za-z0-9]{20}\w*|github_pat_\w{20,})"),
        ("gitlab-token", r"()(glpat-[\w-]{16,})"),
        ("huggingface-token", r"()((?:hf|api_org)_[A-Za-z0-9]{16}\w*)"),
        ("slack-token", r"()(x(?:ox[a-z]|app)-[\w-]{8,}|hooks\.slack\.com/services/[\w/+-]+)"),
        ("google-key", r"()(\bAIza[\w-]{35}|\bya29\.[\w.-]{16,})"),
        ("openai-key", r"()(\bsk-[\w-]{20,})"),
        ("userinfo", r"""((?i:\b[a-z][a-z0-9+.-]*)://)([^\s/?#"'<>`]+)@"""),
        ("authorization", _AUTHORIZATION),
        ("secret", rf"""(--?(?i:{_WORDS})\s+)("[^"]*"?|'[^']*'?|[^\s"'=:-]\S*)"""),
        ("secret", rf"""({_NAME}(?:\\?["'])?\]?\s*(?:=>?|:=?)\s*)({_VALUE})"""),
        ("signature", r"([?&]sig=)([^\s&]+)"),
    )
)


def redact(text: str) -> str:
    """The text with «redacted:kind» in place of each secret. Doing it twice changes nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which RE2 refuses
        text = text.encode("utf-8", "replace").decode()
    for kind, pattern in _KINDS:
        if pattern.search(text):
            text = _replaced(text, kind, pattern)
    return text


def _replaced(text: str, kind: str, pattern: Any) -> str:
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        start, stop = match.span(2)
        secret = text[start:stop]
        pieces += [text[end:start], _instead_of(secret, kind, match.group(1))]
        end = stop
    return "".join([*pieces, text[end:]])


def _instead_of(secret: str, kind: str, before: str) -> str:
    name = before.rstrip(" \t=:>\"'\\")
    if kind == "secret" and _HARMLESS.search(name):
        return secret
    quote = secret[0] if secret[:1] in ("'", '"') else secret[:2] if secret[:2] == '\\"' else ""
    inner = secret.removeprefix(quote).removesuffix(quote) if quote else secret
    if not inner or _MARK.fullmatch(inner):
        return secret
    return f"{quote}«redacted:{kind}»{quote}"
