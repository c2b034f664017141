"""The definition that a user names: files, words, the environment, or records of other hosts."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.intake.text_file import FILE_BYTES_MAX, read_bytes, read_standard_input, text_of
from holdfast.model.codec import decode
from holdfast.model.errors import BadInput, MissingInput, UsageError
from holdfast.model.facts import Fact, SpecRead, SpecUnreadable
from holdfast.model.job import Job
from holdfast.model.job_file import JobFile, make_job, parse_job_file
from holdfast.model.spec import TASKS_MAX, read_spec

FILES_MAX = 10_000  # one for each task
ENTRIES_MAX = 1_000_000  # addresses in all definitions together: memory has an end
RECORD_BYTES_MAX = 64 << 20
VARIABLE = "TF_CONFIG"
COMMAND_LINE = "the command line"
STANDARD_INPUT = "standard input"
RUN_FILE = "run.json"
_RECORD_BEGINS = b'{"fact":'
# Whose own list of tasks we do not read yet, by a variable that is set in its jobs.
_LAUNCHERS = (
    ("SLURM_JOB_ID", "Slurm"),
    ("RAY_ADDRESS", "Ray"),
    ("KUBERNETES_SERVICE_HOST", "Kubernetes"),
)

Spec = SpecRead | SpecUnreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be looked at. `recorded` are facts that other hosts have already seen."""

    specs: tuple[Spec, ...] = ()
    job: Job | None = None
    recorded: tuple[Fact, ...] = ()
    sources: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()  # those sources that are files
    notes: tuple[str, ...] = ()  # what was not read, and why


def run_dir_of(words: Sequence[str]) -> str | None:
    """The run directory that is meant, if one is: a job that `holdfast run` started."""
    is_run = len(words) == 1 and os.path.isfile(os.path.join(words[0], RUN_FILE))  # noqa: PTH113, PTH118
    return words[0] if is_run else None


def read_target(
    words: Sequence[str],
    environ: Mapping[str, str],
    *,
    at_s: float = 0.0,
    host: str = "",
) -> Target:
    """Everything that the words name; without a word, this process' own TF_CONFIG."""
    reader = _Reader(at_s=at_s, host=host)
    if not words:
        return reader.environment(environ)
    _refuse_a_mixture(words)
    for word in words:
        reader.word(word)
    return reader.target()


def _refuse_a_mixture(words: Sequence[str]) -> None:
    if len(words) > 1 and any(word.endswith(".toml") for word in words):
        raise UsageError(
            "a job file describes a whole job, and others were named beside it",
            do="check one job file at a time, without other words",
        )


class _Reader:
    """Takes word after word; addresses on the command line make one definition together."""

    def __init__(self, *, at_s: float, host: str) -> None:
        self._at_s, self._host = at_s, host
        self._specs: list[Spec] = []
        self._recorded: list[Fact] = []
        self._written: dict[str, list[str]] = {}  # role -> addresses, from the command line
        self._job: Job | None = None
        self._sources: list[str] = []
        self._files: set[str] = set()
        self._entries = 0

    def environment(self, environ: Mapping[str, str]) -> Target:
        text = environ.get(VARIABLE)
        self._add(text, VARIABLE)
        notes = () if text is not None else tuple(_unread_launchers(environ))
        return self.target(notes=notes)

    def word(self, word: str) -> None:
        literal = word.strip().removeprefix(f"{VARIABLE}=")
        if word == "-":
            self._content(read_standard_input(RECORD_BYTES_MAX), STANDARD_INPUT)
        elif literal.startswith(("{", "'", '"')) or literal != word.strip():
            self._add(literal, COMMAND_LINE)
        elif word.endswith(".toml"):
            self._job_file(word)
        elif os.path.isdir(word):  # noqa: PTH112 - no exception for a name that cannot be
            for name in _json_files(word):
                self._file(name)
        elif not os.path.lexists(word) and (pair := _addresses(word)):
            role, addresses = pair
            self._written.setdefault(role, []).extend(addresses)
        else:
            self._file(word)

    def target(self, notes: tuple[str, ...] = ()) -> Target:
        if self._written:
            self._refuse_too_many_words()
            self._add_cluster(self._written, COMMAND_LINE)
        if self._recorded and (self._specs or self._job):
            raise UsageError(
                "records and definitions were named together",
                do="judge the records by themselves: holdfast check a.facts b.facts",
            )
        return Target(
            specs=tuple(self._specs),
            job=self._job,
            recorded=tuple(self._recorded),
            sources=tuple(self._sources),
            files=frozenset(self._files),
            notes=notes,
        )

    def _refuse_too_many_words(self) -> None:
        tasks = sum(map(len, self._written.values()))
        if tasks > TASKS_MAX:
            raise BadInput(
                f"{tasks:,} addresses are more than the {TASKS_MAX:,} that can be checked",
                do="name fewer of them",
            )

    def _job_file(self, name: str) -> None:
        text = text_of(read_bytes(name, FILE_BYTES_MAX), name)
        self._job = make_job(JobFile(), parse_job_file(text, name))
        self._files.add(name)
        if self._job.addresses:
            self._add_cluster(self._job.addresses, name)
        else:
            self._sources.append(name)

    def _file(self, name: str) -> None:
        if len(self._files) >= FILES_MAX:
            raise BadInput(
                f"more than {FILES_MAX} files were named", do="name one file for each task"
            )
        raw = read_bytes(name, RECORD_BYTES_MAX)
        self._files.add(name)
        self._content(raw, name)

    def _content(self, raw: bytes, source: str) -> None:
        if raw.startswith(_RECORD_BEGINS):
            self._recorded += _facts(raw, source)
            self._sources.append(source)
            return
        if len(raw) > FILE_BYTES_MAX:
            raise BadInput(
                f"{source} is larger than {FILE_BYTES_MAX >> 20} MiB: no definition is",
                do="name the file that holds the TF_CONFIG",
            )
        self._add(text_of(raw, source), source)

    def _add_cluster(self, addresses: Mapping[str, Sequence[str]], source: str) -> None:
        """Addresses alone are no member's own definition.

        An evaluator knows the cluster and is not in it: so it looks to one who stands outside.
        """
        text = json.dumps({"cluster": addresses, "task": {"type": "evaluator", "index": 0}})
        self._add(text, source)
        last = self._specs[-1]
        if isinstance(last, SpecRead):
            self._specs[-1] = replace(last, task=None, bare=True)

    def _add(self, text: str | None, source: str) -> None:
        spec = read_spec(text, source=source, at_s=self._at_s, host=self._host)
        if isinstance(spec, SpecRead):
            self._entries += sum(map(len, spec.cluster.values()))
            if self._entries > ENTRIES_MAX:
                raise BadInput(
                    f"the definitions hold more than {ENTRIES_MAX:,} addresses together",
                    do="name the definitions of fewer tasks",
                )
        self._specs.append(spec)
        self._sources.append(source)


def _unread_launchers(environ: Mapping[str, str]) -> Iterator[str]:
    for variable, name in _LAUNCHERS:
        if environ.get(variable):
            yield (
                f"{name} started this ({variable} is set), but its own list of tasks is not"
                f" read yet: give the TF_CONFIG, or the addresses"
            )


def _addresses(word: str) -> tuple[str, list[str]] | None:
    """`worker=a:1,b:1`, or a bare list, which is one of workers; None: it is neither."""
    role, equals, listed = word.partition("=")
    if not equals:
        role, listed = "worker", word
    elif not role or "/" in role:
        return None
    is_path = "/" in listed and "://" not in listed
    if is_path or not (equals or ":" in listed or "," in listed):
        return None
    return role, [address.strip() for address in listed.split(",")]


def _json_files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.name.endswith(".json")]
    except OSError as error:
        raise MissingInput(f"the directory {folder} cannot be read: {error.strerror}") from error
    if not found:
        raise MissingInput(
            f"the directory {folder} holds no *.json",
            do="put one TF_CONFIG for each task there, or name the files",
        )
    return sorted(found)


def _facts(raw: bytes, source: str) -> Iterator[Fact]:
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            yield decode(line)
        except BadInput as error:
            raise BadInput(
                f"{source}, line {number}: {error.message}",
                do="record it again: holdfast check --record FILE",
            ) from error
