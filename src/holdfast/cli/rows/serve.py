"""`holdfast rows serve`: the central writer, and the receiver for hosts without the folder."""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from holdfast.cli.rows import errors_of_rows
from holdfast.model.errors import MissingInput, UsageError
from holdfast.rows.central_state import central_folder
from holdfast.rows.errors import Held
from holdfast.rows.serve_settings import AGE_S, HELD_CODE, SEGMENT_BYTES, Settings
from holdfast.rows.supervising import supervise
from holdfast.views.sanitise import plain

TOKEN_VARIABLE = "HOLDFAST_ROWS_TOKEN"
TOKEN_BYTES_MAX = 4096


@click.command(short_help="Gather what many tasks write into one growing dataset.")
@click.argument("logdir", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--listen",
    multiple=True,
    metavar="ADDRESS",
    help="For tasks without LOGDIR: tcp://host:port or unix:///path. May be given often.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"What senders must know. Default: ${TOKEN_VARIABLE}, or a file that is made.",
)
@click.option(
    "--segment-mb",
    type=click.IntRange(1, 1 << 14),
    default=SEGMENT_BYTES >> 20,
    show_default=True,
    help="A segment is published when it has so much,",
)
@click.option(
    "--age",
    "age_s",
    type=click.FloatRange(0, 86_400),
    default=AGE_S,
    show_default=True,
    help="or when something in it is so many seconds old.",
)
@click.option("--once", is_flag=True, help="Take over what is there, and end.")
def command(
    *,
    logdir: Path,
    listen: tuple[str, ...],
    token_file: Path | None,
    segment_mb: int,
    age_s: float,
    once: bool,
) -> None:
    """Take over what tasks write with holdfast.rows.open(way="central").

    LOGDIR/rows/central gets HDF5 files with the rows of all tasks, in the order of their arrival.
    It may die, be stopped or start late: rows are safe in the tasks' own logs before, and arrive
    once. One may run for a LOGDIR. The token never travels; the rows are not encrypted.

    \b
    Exit codes: 0 asked to end, and all is published; 2 wrong usage; else see the message.
    """
    with errors_of_rows():
        settings = Settings(
            logdir=str(logdir.absolute()),
            listen=() if once else listen,
            token=_token(logdir, token_file) if listen and not once else None,
            segment_bytes=segment_mb << 20,
            age_s=age_s,
            once=once,
        )
        held: list[dict[str, Any]] = []
        code = supervise(settings, tell=lambda told: _show(told, held, logdir))
        if code == HELD_CODE and held:
            raise Held(held[0]["message"], do=held[0]["do"])
    sys.exit(code)


def _show(told: dict[str, Any], held: list[dict[str, Any]], logdir: Path) -> None:
    if told["state"] == "held":
        held.append(told)
    elif told["state"] == "ready":
        places = ", ".join(told["addresses"])
        where = f"; listens on {places}" if places else ""
        click.echo(plain(f"takes over the rows of {logdir} (pid {told['pid']}){where}"))


def _token(logdir: Path, file: Path | None) -> str:
    if file is not None:
        try:
            with file.open("rb") as opened:
                return opened.read(TOKEN_BYTES_MAX).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise MissingInput(f"cannot read {plain(str(file))}: {error}", do="mend it") from error
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None:
        if not given:
            raise UsageError(f"${TOKEN_VARIABLE} is empty", do="set it, or unset it")
        return given
    made = central_folder(logdir) / "token"
    made.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as opened:
            opened.write(secrets.token_hex(32) + "\n")
    click.echo(plain(f"senders need the token in {made}"))
    return made.read_text().strip()
