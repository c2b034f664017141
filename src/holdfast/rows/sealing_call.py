"""The one place where a writer asks for its closed logs to become segments."""

import importlib
import os
import warnings
from pathlib import Path

_SEALING = "holdfast.rows.sealing"


def seal_later(logdir: str | os.PathLike[str]) -> None:
    """Starts sealing beside us. Rows are safe in their logs, so a failure is only told."""
    try:
        importlib.import_module(_SEALING).start_background(logdir)
    except Exception as error:  # noqa: BLE001 - training goes on, whatever is wrong with sealing
        warnings.warn(
            f"closed logs in {logdir} wait to be sealed: {error!r}", RuntimeWarning, stacklevel=2
        )


def seal_now(folder: Path) -> None:
    """Seals all closed logs of one source; raises what went wrong."""
    importlib.import_module(_SEALING).seal_source(folder)
