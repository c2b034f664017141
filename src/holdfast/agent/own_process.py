"""A drop-in for `subprocess.run` that no amount of output can deadlock, and that says what failed.

What a process writes goes to files, never through pipes: it cannot block on us, we cannot
block on it, and a grandchild that keeps its output open keeps nobody waiting.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Unpack

from holdfast.agent.process_settings import ProcessSettings, settings_by_name, text_encoding
from holdfast.agent.running_process import RunningProcess
from holdfast.model.findings import Diagnosis, Finding
from holdfast.model.redact import redact
from holdfast.model.signals import signal_name

PIPE = subprocess.PIPE
LAST_WORDS_MAX = 2_000  # characters at the end of a stream in which they are looked for
LAST_LINES_MAX, LAST_LINE_MAX = 3, 200


class FinishedProcess(subprocess.CompletedProcess[Any]):
    """What `subprocess.run` returns, and why it ended.

    `finding` is the proven cause of a failure, if there is one. `reason` is a sentence about
    every failure, also one without a proven cause; it is empty when all is well.
    """

    def __init__(
        self, args: Any, returncode: int, stdout: Any, stderr: Any, diagnosis: Diagnosis
    ) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.diagnosis = diagnosis

    @property
    def finding(self) -> Finding | None:
        return next(iter(self.diagnosis.findings), None)

    @property
    def reason(self) -> str:
        if self.finding:
            return self.finding.proof.says
        if not self.returncode:
            return ""
        number = -self.returncode
        how = f"on {signal_name(number)}" if number > 0 else f"with exit code {self.returncode}"
        return (
            f"cannot tell why it ended {how}: nothing it left behind proves a cause;"
            f" {_last_words(self)}"
        )

    def check_returncode(self) -> None:
        if self.returncode:
            raise FailedProcess(self)


class FailedProcess(subprocess.CalledProcessError):
    """`CalledProcessError` with the reason."""

    def __init__(self, finished: FinishedProcess) -> None:
        super().__init__(finished.returncode, finished.args, finished.stdout, finished.stderr)
        self.finding = finished.finding
        self.reason = finished.reason
        self.diagnosis = finished.diagnosis

    def __str__(self) -> str:
        return f"{super().__str__()} {self.reason}"


def run_process(
    *by_place: Any,
    input: Any = None,  # noqa: A002 - subprocess.run's own name
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **by_name: Unpack[ProcessSettings],
) -> FinishedProcess:
    """`subprocess.run` that cannot deadlock, with the reason of a failure in its result.

    It takes what `subprocess.run` takes. At the time-out the whole tree is killed, not only the
    process itself, and what it had written until then is in the exception.
    """
    settings = settings_by_name(by_place, by_name)
    if capture_output:
        if settings.get("stdout") is not None or settings.get("stderr") is not None:
            raise ValueError("stdout and stderr cannot be given together with capture_output")
        settings["stdout"] = settings["stderr"] = PIPE
    if input is not None and settings.get("stdin") is not None:
        raise ValueError("stdin and input cannot be given together")
    with contextlib.ExitStack() as stack:
        if input is not None:
            settings["stdin"] = stack.enter_context(_as_file(input, settings))
        # It is there before it starts: Ctrl-C at any moment finds what is to be ended.
        process = RunningProcess.__new__(RunningProcess)
        try:
            process.__init__(**settings)  # type: ignore[misc]
            stack.callback(process.close)
            out, err = process.communicate(timeout=timeout)
        except BaseException:  # also Ctrl-C: nothing of it may stay behind
            process.kill_tree()
            raise
        code, diagnosis = process.returncode, process.diagnose()
        finished = FinishedProcess(process.args, code, out, err, diagnosis)
    if check:
        finished.check_returncode()
    return finished


def _as_file(content: Any, settings: ProcessSettings) -> IO[bytes]:
    """Input from a file, not a pipe: a process that does not read it blocks nobody."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    if isinstance(content, str):
        encoding = text_encoding(settings) or "utf-8"
        content = content.encode(encoding, settings.get("errors") or "strict")
    file.write(content)
    file.seek(0)
    return file


def _last_words(finished: FinishedProcess) -> str:
    """Of the stream for errors, if it said anything there."""
    kept = [said for said in (finished.stderr, finished.stdout) if said is not None]
    if not kept:
        return "what it wrote was not kept (capture_output=True keeps it)"
    lines = next(filter(None, (list(_last_lines(said)) for said in kept)), None)
    return f"its last words: {' | '.join(lines)}" if lines else "it wrote nothing"


def _last_lines(said: str | bytes) -> Iterator[str]:
    end = said[-LAST_WORDS_MAX:]
    text = end.decode("utf-8", "replace") if isinstance(end, bytes) else end
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines[-LAST_LINES_MAX:]:
        shown = redact(line)[:LAST_LINE_MAX]
        yield "".join(
            letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown
        )
