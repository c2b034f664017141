"""Words near the end of a log that say that the work came to its end.

They are believed only where nothing sounds like trouble; what tells of trouble is asked first.
"""

from collections.abc import Sequence

from holdfast.diagnose.log_ends import FINISHED, LAUNCHER, is_progress
from holdfast.model.error_like import is_error_like
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords
from holdfast.model.log_facts import TotalTold
from holdfast.model.log_prefix import is_labelled, said_in
from holdfast.model.pattern import Pattern

LINES_MAX = 20
LOOKED_AT_MAX = 300
_WORK = (
    r"(?:train(?:ing)?|fit(?:ting)?|finetuning|fine-tuning|job|run|script|program|experiment"
    r"|benchmark|pipeline|workflow|simulation|search|optimi[sz]ation|all (?:the )?\w{1,20}"
    r"|everything|application|worker group|main|process|execution)"
)
_DONE = (
    r"(?:done|completed?|finished|finishes|ended|succeeded|successful(?:ly)?|concluded|is over"
    r"|terminated (?:normally|successfully))"
)
# Programs, in words of their own.
_SAID = (
    FINISHED.text,
    rf"(?i)\b{_WORK}\b[^.!]{{0,40}}\b{_DONE}\b",
    (
        rf"\b(?:done|finished|completed) (?:with )?(?:the )?{_WORK}"
        r"(?:\W*$|[.!,;:(]| (?:in|after|at|on|with|for|of|and)\b)"
    ),
    r"\bexit(?:ing|s|ed)? (?:the )?(?:\w+ )?(?:normally|successfully|cleanly|gracefully)",
    r"\b(?:saved|saving|wrote|writing|exported|exporting)\b.{0,40}\bfinal\b",
    r"\bfinal\b.{0,40}\b(?:saved|written|exported)\b",
    (
        r"\bfinal (?:\w+ ){0,3}(?:loss|accuracy|acc|score|result|results|metrics|reward|perplexity"
        r"|map|auc|f1|error|checkpoint|model|weights|evaluation)\b"
    ),
    r"\btotal (?:img|images?|examples?|samples?|tokens?|sequences?)(?:/| per )s",
    r"\bconverged (?:in|after|at)\b|\b(?:test|benchmark|run) concluded\b",
    (
        r"\b(?:server|ps|parameter server|worker|coordinator)\b.{0,30}\b(?:shut ?down|stopped)"
        r"(?: \w+)? ?(?:successfully|cleanly|gracefully|$|[.!]$)"
    ),
    r"\bshut ?down (?:\w+ ){0,3}(?:successfully|complete[d]?)\b",
)
# Launchers, schedulers and what runs beside a program.
_LAUNCHED = (
    (
        r"(?i)\b(?:exit(?:ed)?|return(?:ed)?|finished|terminated|completed)[ _-]?(?:with )?"
        r"(?:exit )?(?:code|status|value)?['\"]?\s*[:=]?\s*0(?::0)?(?:[\s,;.)}'\"]|$)"
    ),
    r"\b(?:rc|returncode|exitcode|exit_code|exit_status)['\"]?\s*[:=]\s*0(?::0)?(?:[\s,;.)}'\"]|$)",
    r"\bwaiting for w&b process to finish.{0,10}\(success\)|\bwandb: synced \d+ w&b file",
    r"\bwandb: find logs at",
    r"\bw(?:orker)?state\.succeeded\b|\bsuccessfully completed\.$|\bjob \S{1,60} succeeded\b",
    r"\b(?:phase|status|state|jobstate|reason)['\"]?\s*[:=]?\s*['\"]?(?:succeeded|completed)\b",
    r"^\S+\s+\d+/\d+\s+completed\s",  # a row of `kubectl get pods`
    r"^\d[\d_.+a-z]*\s.*\scompleted\s+0:0",  # a row of `sacct`
    r"\bdestroy complete$|\bcollective test concluded",
    r"^real\s+\d+m[\d.]+s",
)
# Times and sums may be told again and again: they count where they are told once, at the end.
_SUMS = (
    r"(?i)\btotal (?:\w+ ){0,4}(?:time|duration|runtime|elapsed)\b",
    r"\b(?:total|overall|whole|entire)_?(?:train(?:ing)?_)?(?:time|duration|runtime)\b",
    r"\b(?:elapsed|execution|wall[- ]?clock|training|train|running|run|job) ?(?:time|duration)\b",
    r"\btime (?:elapsed|taken|spent|used)\b|\b(?:took|takes|elapsed):? [\d.]+ ?(?:s|sec|min|h)",
    r"\b(?:across|over all|after all) [\d,]+ (?:steps|iterations|epochs|batches)\b",
    (
        r"\b(?:model|weights|results?|predictions|history) (?:was |were |has been )?"
        r"(?:saved|written|exported) (?:to|in|at|as)\b"
    ),
    r"\b(?:saved|saving|wrote) (?:the )?(?:trained )?(?:model|weights|results) (?:to|in)\b",
)
_ENDS = Pattern("|".join((*_SAID, *_LAUNCHED)))
# Nothing but this on a line; who says it of each thing that it does says it again and again.
_ALONE = Pattern(
    r"(?i)(?:^|[-:|>\]] )\W*(?:(?:all|now|i'?m|and|we are|okay|ok|successfully) )*(?:done|finished"
    r"|completed?|exiting|exited|bye|good ?bye|the end)(?: (?:bye|now|here))?\W*$"
)
_SUMMED_UP = Pattern("|".join(_SUMS))
# What no part of a training says, whatever stands before it.
_OF_ALL = Pattern(
    r"(?i)\bearly[ -]?stopping (?:at|after|triggered|condition|now)|: early stopping$"
    r"|\bTrainer\.\w+` stopped\b|\bmax_(?:epochs|steps|time)\b[^.]{0,12}\breached\b"
    r"|['\"]?train_runtime['\"]?\s*[:=]|\*{3,} train metrics \*{3,}"
)
# What a launcher says of a command that failed.
_BADLY = Pattern(
    r"(?i)\bnon-?zero exit\b|\b(?:exit|return)(?:ed)?[ _]?(?:with )?(?:code|status)\W{1,3}-?[1-9]"
)
# What is not there yet, and what is only a part of the work.
_NOT_YET = Pattern(
    r"(?i)\b(?:not|never|until|before|wait(?:s|ing)?|will|if|when|whenever|cannot|can't|unable"
    r"|didn't|isn't|hasn't|without)\b"
)
_PART = Pattern(
    r"(?i)\b(?:epoch|step|batch|iter(?:ation)?|round|stage|phase|fold|trial)\b\s*[:#=]?\s*[\[(]?\d"
    r"|\b(?:this|each|every|per|one|first|current|an?) (?:epoch|step|batch|round)\b|\bepoch\b"
    r"|\b(?:init\w*|download\w*|load(?:s|ed|ing)?|compil\w*|warm-?up|pre-?process\w*|tokeniz\w*"
    r"|set-?up|checkpoint\w*|restor\w*|validat\w*|eval\w*|broadcast\w*|barrier|rendezvous|requests?"
    r"|connect\w*|install\w*|build\w*|import\w*|prefetch\w*|autotun\w*|captur\w*|shuffl\w*"
    r"|local_init_op|graph|data|datasets?|sets?|split|shards?|files?|handshake|start(?:ed|ing)|launch(?:ed|ing))\b"
)


def tells_end(evidence: Evidence, words: LastWords) -> bool:
    """Whether the last words of a log tell of the end of the work, or a total in it is reached."""
    totals = [one for one in evidence.of(TotalTold) if one.source == words.source]
    if any(one.is_reached for one in totals):
        return True
    return says_end(words.lines, is_short=bool(totals))


def says_end(lines: Sequence[str], *, is_short: bool) -> bool:
    """Whether last lines tell of an end that no step follows.

    `is_short`: a total was announced and not reached; then a sum is one of the way.
    """
    labelled = is_labelled(lines)
    said = _Said(is_short=is_short)
    for line in [line for line in lines if line.strip()][-LINES_MAX:]:
        text = said_in(line, labelled=labelled).text.strip()[:LOOKED_AT_MAX]
        said.take(text, goes_on=is_progress(line))
    return said.is_end


class _Said:
    """What was told line by line."""

    def __init__(self, *, is_short: bool) -> None:
        self.is_end = False
        self._sums_count = not is_short
        self._sums_told = False
        self._alone: set[str] = set()
        self._before = ""

    def take(self, text: str, *, goes_on: bool) -> None:
        before, self._before = self._before, text
        if _OF_ALL.search(text) or _is_of_all(_ENDS, text):
            self.is_end = True
        elif goes_on or _BADLY.search(text):
            self.is_end = False
            self._sums_count &= not self._sums_told  # they are told on the way
        elif _is_of_all(_ALONE, text):
            again = text in self._alone and text != before
            self.is_end = not (again or before.endswith(("...", "…")))
            self._alone.add(text)
        elif self._sums_count and _is_of_all(_SUMMED_UP, text):
            self._sums_told = self.is_end = True


def _is_of_all(words: Pattern, text: str) -> bool:
    """Whether such words are there, and they are about the whole of the work."""
    said = words.search(text)
    if said is None or (is_error_like(text) and not LAUNCHER.search(text)):
        return False
    until = text[: said.end()]
    return not (_NOT_YET.search(until) or _PART.search(until))
