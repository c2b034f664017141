"""What a process is started with: everything that `subprocess.Popen` takes, by its name."""

import inspect
import locale
import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import IO, Any, TypedDict, cast

Word = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Command = Word | Sequence[Word]
Stream = int | IO[Any] | None
# Of the Python that runs us: what it does not know is refused in its words.
_POPEN = inspect.signature(subprocess.Popen)


class ProcessSettings(TypedDict, total=False):
    """The arguments of `subprocess.Popen`."""

    args: Command
    bufsize: int | None
    executable: Word | None
    stdin: Stream
    stdout: Stream
    stderr: Stream
    preexec_fn: Callable[[], Any] | None
    close_fds: bool
    shell: bool
    cwd: Word | None
    env: Mapping[str, str] | Mapping[bytes, bytes] | None
    universal_newlines: bool | None
    startupinfo: None  # of Windows, as is the next
    creationflags: int
    restore_signals: bool
    start_new_session: bool
    pass_fds: Collection[int]
    user: str | int | None
    group: str | int | None
    extra_groups: Iterable[str | int] | None
    encoding: str | None
    errors: str | None
    text: bool | None
    umask: int
    pipesize: int | None
    process_group: int | None


def settings_by_name(by_place: Sequence[Any], settings: ProcessSettings) -> ProcessSettings:
    """All of them by name: Popen takes most by place, too."""
    return cast("ProcessSettings", _POPEN.bind(*by_place, **settings).arguments)


def text_encoding(settings: ProcessSettings) -> str | None:
    """How text is encoded, by the rules of Popen; None: streams are bytes."""
    asked = ("text", "universal_newlines", "encoding", "errors")
    if not any(settings.get(name) for name in asked):
        return None
    return settings.get("encoding") or locale.getpreferredencoding(do_setlocale=False)
