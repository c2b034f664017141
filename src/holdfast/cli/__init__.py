"""The `holdfast` command: one file per sub-command, each loaded only when it is called."""

import difflib
import errno
import importlib
import io
import os
import pkgutil
import shutil
import sys
from typing import Any, TextIO

import click

from holdfast import __version__
from holdfast.model.errors import HoldfastError, StorageFailed

INTERRUPTED_CODE = 130
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


class Commands(click.Group):
    """The files of a folder, and its folders. A command that is not called is not imported."""

    folder = "holdfast.cli"

    def list_commands(self, ctx: click.Context) -> list[str]:
        path = importlib.import_module(self.folder).__path__
        return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(path))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{self.folder}.{cmd_name.replace('-', '_')}")
        return getattr(module, "command", None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], known, n=1)
            path = ctx.command_path
            hint = f"Did you mean `{path} {near[0]}`?" if near else f"See `{path} --help`."
            ctx.fail(f"there is no command `{args[0]}`. {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would say 1, which means that the training failed
            sys.exit(INTERRUPTED_CODE)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast")
def holdfast() -> None:
    """Runs, checks and diagnoses distributed TensorFlow training.

    When a job does not start, or dies, Holdfast says which task, why, and what to do, and keeps
    every line it wrote.
    """


def wants_colour(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR decide; else whether a person is looking."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """The terminal's width, or COLUMNS; 100 where there is neither."""
    fallback = (100, 24)
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return fallback[0]
    return max(20, shutil.get_terminal_size(fallback).columns)


def main() -> None:
    """Errors of ours are sentences with a way out, never tracebacks."""
    _open_standard_streams()
    try:
        holdfast.main(standalone_mode=True)
    except HoldfastError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.do:
            click.echo(f"  try: {error.do}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone; a traceback would go nowhere either.
        _forget_output()
        sys.exit(1)
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        _forget_output()
        click.echo(f"error: cannot write the output: {error.strerror}", err=True)
        click.echo("  try: send it elsewhere, or make room", err=True)
        sys.exit(StorageFailed.exit_code)


def _forget_output() -> None:
    """What is still to be written would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_standard_streams() -> None:
    """All three, always: started with one closed, our next file would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The lowest number that is free: this one.
            opened = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(opened, "w" if number else "r"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows only ASCII must not cost anybody the report.
            stream.reconfigure(errors="backslashreplace")
