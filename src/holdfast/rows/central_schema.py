"""What a dataset of the central way is: whoever declares it first decides for all."""

import hashlib
import json
import os
from pathlib import Path

from holdfast.rows.central_state import central_folder
from holdfast.rows.errors import Refused, unwritable
from holdfast.rows.layout import read_json, temporary_name
from holdfast.rows.schema import Dataset

SCHEMAS = "schemas"
_HASH_CHARS = 32


def agree(logdir: str | os.PathLike[str], dataset: Dataset, *, task: str) -> None:
    """Returns if rows of this dataset can go behind those of others; Refused if not."""
    folder = central_folder(logdir) / SCHEMAS
    path = folder / f"{hashlib.sha256(dataset.name.encode()).hexdigest()[:_HASH_CHARS]}.json"
    found = read_json(path)
    if not found:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check_place(folder, dataset, is_first=True)
            _create(path, {"by": task, "dataset": dataset.to_json()})
        except OSError as error:
            raise unwritable(path, error) from error
        found = read_json(path)
        try:
            _check_place(folder, dataset, is_first=False)
        except Refused:
            path.unlink(missing_ok=True)
            raise
    known = Dataset.from_json(found.get("dataset"))
    if not known.is_like(dataset):
        raise Refused(
            f'dataset "{dataset.name}" has rows of {known.dtype} {known.row_shape} since '
            f"{found.get('by')!s:.80} declared it, and {task} has {dataset.dtype} "
            f"{dataset.row_shape}",
            do="give it another name: in the central way a dataset is the same for all",
        )


def _check_place(folder: Path, dataset: Dataset, *, is_first: bool) -> None:
    """In HDF5 a dataset is no folder. Of two who come at once, the longer name gives way."""
    name = dataset.name
    for path in folder.glob("[!.]*.json"):
        content = read_json(path).get("dataset") or {}
        other = str(content.get("name", ""))
        is_below = bool(other) and name.startswith(f"{other}/")
        if is_below or (is_first and other.startswith(f"{name}/")):
            raise Refused(
                f'dataset "{name}" and dataset "{other}" cannot lie one below the other',
                do="give one of them another name",
            )


def _create(path: Path, content: object) -> None:
    temporary = path.with_name(temporary_name(path.name))
    temporary.write_text(json.dumps(content))
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
