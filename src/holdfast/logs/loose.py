"""A pattern made looser: it matches wherever the pattern does, and costs less to look for."""

from holdfast.model.pattern import Pattern

REPEATS_MAX = 4  # counted as they are; beyond, any number will do


def loosened(pattern: Pattern) -> Pattern:
    r"""Without limits on repetitions, without `$` and `\b`, and never beyond the line's end."""
    text = pattern.unnamed.replace("(?s:", "(?:").replace("(?s)", "")
    pieces: list[str] = []
    at = 0
    while at < len(text):
        piece = _piece(text, at)
        at += len(piece)
        pieces.append(_looser(piece))
    return Pattern("".join(pieces))


def _piece(text: str, at: int) -> str:
    """The next escape, [class], {repetition} or character."""
    if text[at] == "\\":
        return text[at : at + 2]
    if text[at] == "[":
        return _class(text, at)
    if text[at] == "{":
        stop = text.find("}", at)
        inside = text[at + 1 : stop].replace(",", "", 1)
        return text[at : stop + 1] if stop > 0 and inside.isdecimal() else text[at]
    return text[at]


def _class(text: str, at: int) -> str:
    stop = at + 1 + text.startswith("^", at + 1)
    stop += text.startswith("]", stop)
    while stop < len(text) and text[stop] != "]":
        stop += 2 if text[stop] == "\\" else 1
    return text[at : stop + 1]


def _looser(piece: str) -> str:
    if piece in ("$", r"\b", r"\z"):
        return ""
    if not piece.startswith("{") or len(piece) == 1:
        return piece
    least, comma, most = piece[1:-1].partition(",")
    if int(most or (least if not comma else REPEATS_MAX + 1)) <= REPEATS_MAX:
        return piece
    return "*" if int(least) == 0 else "+"
