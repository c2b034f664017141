"""Make a chosen checkpoint the one that the program restores by itself.

TensorFlow and Keras take the newest without a look at it: where that is damaged, they must find
another one in its place. Nothing is removed: what is damaged gets another name.
"""

import os
import shutil
from pathlib import Path

from holdfast.logdir.checkpoint_state import read_state, write_state
from holdfast.logdir.checkpoints import BACKUP, BEFORE, METADATA
from holdfast.logdir.private_files import write_errors
from holdfast.recover.checkpoints import Choice, Form

DAMAGED = ".damaged"


def point_to(choice: Choice) -> list[str]:
    """What was done, in words; nothing, where the program takes the chosen one anyway."""
    if choice.chosen is None:
        return [done for one in choice.passed_over for done in _out_of_the_way(one.path, one.form)]
    if choice.chosen.form is Form.BUNDLE:
        return _list_up_to(Path(choice.chosen.path))
    if choice.chosen.form is Form.BACKUP:
        return _take_back(Path(choice.chosen.path))
    return [
        done
        for one in choice.passed_over
        if one.form is choice.chosen.form
        for done in _out_of_the_way(one.path, one.form)
    ]


def _list_up_to(chosen: Path) -> list[str]:
    names = read_state(chosen.parent)
    if not names or names[-1] == chosen.name:
        return []  # a program that keeps no list names its checkpoint itself
    place = names.index(chosen.name) if chosen.name in names else 0
    write_state(chosen.parent, [*names[:place], chosen.name])
    return [f"{chosen.parent / 'checkpoint'} names {chosen.name} instead of {names[-1]}"]


def _take_back(chosen: Path) -> list[str]:
    """The state before the last one becomes the last one."""
    if chosen.name == BACKUP:
        return []
    done = _out_of_the_way(str(chosen.parent / BACKUP), Form.BACKUP)
    for name in (BACKUP, METADATA):
        source, target = chosen.parent / (name + BEFORE), chosen.parent / name
        half = chosen.parent / f".{name}.{os.urandom(4).hex()}"
        with write_errors(str(target)):
            shutil.copy2(source, half)
            half.replace(target)
    return [*done, f"{BACKUP} is the state before the last one"]


def _out_of_the_way(path: str, form: Form) -> list[str]:
    """Under another name, with all that belongs to it; an older damaged one is overwritten."""
    place = Path(path)
    if form is Form.BUNDLE:
        if place.name not in read_state(place.parent)[-1:]:
            return []
        moved = [place.parent / "checkpoint"]
    elif form is Form.BACKUP:
        moved = [place, place.parent / place.name.replace(BACKUP, METADATA)]
    else:
        moved = [place]
    done = []
    for one in moved:
        if one.exists():
            with write_errors(str(one)):
                one.replace(one.with_name(one.name + DAMAGED))
            done.append(f"{one} is now {one.name}{DAMAGED}")
    return done
