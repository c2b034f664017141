"""A command line that may name a job file: options before or after it, a command behind `--`."""

import os
import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import click

from holdfast.model.errors import UsageError

JOB_FILE_ENDS = ".toml"
HOW_TO_WRITE_IT = """
Options stand before or after the job file, and win over what it says. All that follows `--` is
COMMAND, with its own options; beside a job file it takes the place of the file's command.

A program that takes its place from flags gets it by placeholders in COMMAND and in the values of
--env. {{role}} is a literal {role}, and all other braces are left alone:

\b
  holdfast run --ps 1 --workers 2 -- python train.py --job_name={role}
    --task_index={index} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}
  holdfast run --workers 4 -- python train.py --num_processes={num_processes}
    --coordinator={coordinator_address} --process_id={process_id}

Also {address}, {host}, {port}, {chief_hosts}, {rank}, {world_size}, {local_rank},
{local_world_size}, {master_addr} and {master_port}.
"""
ALIKE_MIN = 0.75  # of an option that was mistyped


@dataclass(frozen=True, slots=True)
class _Split:
    """A command line, cut where its options end."""

    options: tuple[str, ...]
    rest: tuple[str, ...]
    dashed: bool  # whether `--` stands between them


class JobCommand(click.Command):
    """Its first word decides: a job file, behind which options go on, or a command to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        split, job_file = self._split(ctx, args), None
        if split.rest and not split.dashed and split.rest[0].endswith(JOB_FILE_ENDS):
            job_file = split.rest[0]
            split = self._behind(ctx, job_file, split)
        elif split.dashed:
            _refuse_a_job_file(split.rest)
        left = super().parse_args(ctx, [*split.options, "--", *split.rest])
        ctx.params["job_file"] = job_file
        return left

    def _behind(self, ctx: click.Context, job_file: str, before: _Split) -> _Split:
        """All options around a job file, and the command that may stand behind `--`."""
        try:
            split = self._split(ctx, [*before.options, *before.rest[1:]])
        except click.NoSuchOption as error:
            near = "".join(
                f"did you mean {option}? "
                for option in get_close_matches(
                    error.option_name, error.possibilities or (), n=1, cutoff=ALIKE_MIN
                )
            )
            raise UsageError(
                f"holdfast run has no option {error.option_name} (behind the job file {job_file})",
                do=f"{near}options of your program belong to `command` in {job_file}",
            ) from error
        if split.rest and not split.dashed:
            raise UsageError(
                f"`{shlex.join(split.rest)}` follows the job file {job_file}",
                do="one job file at a time; another command than the file's own goes behind `--`",
            )
        if split.rest and split.rest[0].startswith("-"):
            raise UsageError(
                f"`{split.rest[0]}` follows `--`, and cannot be a command",
                do=f"behind `--` stands a whole command, in place of the one in {job_file};"
                " options of holdfast run go before `--`",
            )
        return split

    def _split(self, ctx: click.Context, args: list[str]) -> _Split:
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        # Without any word, click has a mark of its own there, not an empty tuple.
        rest = found["command"] if isinstance(found["command"], tuple | list) else ()
        at = len(args) - len(rest)
        dashed = at > 0 and args[at - 1] == "--"
        return _Split(tuple(args[: at - dashed]), tuple(rest), dashed)


def _refuse_a_job_file(rest: tuple[str, ...]) -> None:
    """Behind `--` it would be executed: nobody means that of a file that cannot be."""
    is_file = len(rest) == 1 and rest[0].endswith(JOB_FILE_ENDS) and Path(rest[0]).is_file()
    if is_file and not os.access(rest[0], os.X_OK):
        raise UsageError(
            f"behind `--` stands a command, and {rest[0]} cannot be executed",
            do=f"leave `--` out: holdfast run {shlex.quote(rest[0])}",
        )
