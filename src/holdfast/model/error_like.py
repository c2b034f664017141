"""Lines that sound like an error, whatever it is: what is left to show where no cause is known."""

from holdfast.model.pattern import Pattern

LOOKED_AT_MAX = 300
_KIND = (
    r"(?:[Ff]atal|FATAL|[Ii]nternal|INTERNAL|[Rr]untime|[Uu]nhandled|[Uu]nexpected|[Uu]ncaught) "
)
_WORD = (
    r"(?:[Ee]rror|ERROR|[Ff]ailed|FAILED|[Ff]ailure|FAILURE|[Ff]atal|FATAL|[Aa]bort|ABORT"
    r"|[Ee]xception|EXCEPTION|[Pp]anic|PANIC|CRITICAL)"
)
_AT_START = Pattern(rf"^(?:[\w./-]+: )?(?:{_KIND})?{_WORD}(?:\W|ed|ing|$)")
_EXCEPTION = Pattern(r"^[A-Za-z_][\w.]*(?:Error|Exception)(?::|$)")
_ENDED = Pattern(
    r"(?i)\b(?:command|process|task|job|step|rank|worker)\b.*\b(?:failed|aborted|crashed|died)\b"
)
# What launchers say of a process that did not end well.
_BADLY = Pattern(
    r"BAD TERMINATION|(?i:terminated abnormally|abnormal termination|exited abnormally)"
    r"|(?:EXIT CODE|[Ee]xit(?:ed with)?(?: exit)? (?:code|status)):? +[1-9]"
)
# What gRPC's clients say of a call, and Slurm of a job, where they know no reason.
_STATUS = Pattern(
    r"RPC that terminated with|\bStatusCode\.(?:UNKNOWN|INTERNAL|ABORTED|CANCELLED|DATA_LOSS"
    r"|RESOURCE_EXHAUSTED|UNAVAILABLE|FAILED_PRECONDITION|UNIMPLEMENTED|INVALID_ARGUMENT)\b"
    r"|_job_complete: [^\n]*(?:WTERMSIG|WEXITSTATUS) [1-9]|\bCrashLoopBackOff\b"
    r"|MPI_A(?:BORT|bort)\b.*(?:invoked|\(MPI_COMM)|CreateContainer(?:Config)?Error"
    r"|RunContainerError|Back-off restarting failed container"
)
# "Errors: 0" and "0 failed" are good news.
_NONE = Pattern(
    r"(?i)\b(?:no|0|without) (?:errors?|failures?|exceptions?)\b|\berrors?: 0\b|\b0 failed"
)

# What a scan looks for, to hear such lines behind any prefix.
ERROR_LIKE_HEARS = (
    Pattern(r"\b[EF] (?:tensorflow|external|third_party|xla|tsl)/"),
    Pattern(r"\b[EF]0000 00:00:\d"),
    Pattern(r"\b[EF](?:0[1-9]|1[0-2])[0-3]\d \d\d:\d\d:\d\d\.\d"),
    Pattern(r"\b(?:ERROR|CRITICAL|FATAL|FAILED|ABORTED)\b"),
    Pattern(r"(?:Error|Exception): "),
    _AT_START,
    _BADLY,
    _STATUS,
    Pattern(r"(?:[Cc]ommand|[Pp]rocess|[Tt]ask|[Jj]ob) .*(?:failed|crashed|died)"),
)


def is_error_like(text: str) -> bool:
    """Whether what was said, without any prefix, sounds like an error."""
    head = text[:LOOKED_AT_MAX]
    if _NONE.search(head):
        return False
    return any(pattern.search(head) for pattern in (_AT_START, _EXCEPTION, _ENDED, _BADLY, _STATUS))
