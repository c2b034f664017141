"""Folders and files in which the next write of a task is heard, each with a rest of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.probes.inotify import CLOSED, FOLDER, MADE, OPENED, Heard, Inotify

PLACES_MAX = 96
REST_S, REST_LONGER, REST_S_MAX = 0.5, 1.5, 60.0  # where looks find nothing new


@dataclass(slots=True)
class Place:
    path: str
    is_file: bool
    sure: bool  # a task was seen to write there
    watch: int = -1  # of the kernel; -1: it is not listened to
    due_s: float = float("-inf")  # not before
    rest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Rung:
    """Something was made, closed or opened at a place that we listen to."""

    place: Place
    name: str
    is_made: bool
    is_folder: bool

    @property
    def path(self) -> str:
        return f"{self.place.path}/{self.name}" if self.name else self.place.path


class Places:
    def __init__(self, inotify: Inotify) -> None:
        self._inotify = inotify
        self._places: dict[str, Place] = {}
        self._listening: dict[int, Place] = {}

    def add(self, path: str, *, is_file: bool = False, sure: bool = False) -> None:
        """Listen there from the next `arm` on. Where there are too many, a guess makes room."""
        known = self._places.get(path)
        if known is not None:
            known.sure = known.sure or sure
            return
        if len(self._places) >= PLACES_MAX:
            guess = next((one for one in self._places.values() if not one.sure), None)
            if guess is None or not sure:
                return
            self._drop(guess)
        self._places[path] = Place(path, is_file, sure)

    def arm(self, at_s: float) -> None:
        """Listen wherever it is time to; a place that is gone is forgotten."""
        for place in [*self._places.values()]:
            if place.watch < 0 and place.due_s <= at_s:
                mask = OPENED if place.is_file else MADE | CLOSED
                place.watch = self._inotify.watch_once(place.path, mask)
                if place.watch < 0:
                    self._drop(place)
                else:
                    self._listening[place.watch] = place

    def hear(self) -> Iterator[Rung]:
        for heard in self._inotify.hear():
            place = self._listening.pop(heard.watch, None)
            if place is not None:
                place.watch = -1
                yield _rung(place, heard)

    def rest(self, place: Place, at_s: float, *, news: bool) -> None:
        """The more looks in vain, the longer nobody listens there."""
        longer_s = min(max(REST_S, REST_LONGER * place.rest_s), REST_S_MAX)
        place.rest_s = 0.0 if news else longer_s
        place.due_s = at_s + place.rest_s

    def _drop(self, place: Place) -> None:
        del self._places[place.path]
        if place.watch >= 0:
            del self._listening[place.watch]
            self._inotify.forget(place.watch)


def _rung(place: Place, heard: Heard) -> Rung:
    is_made, is_folder = bool(heard.mask & MADE), bool(heard.mask & FOLDER)
    return Rung(place, heard.name, is_made=is_made, is_folder=is_folder)
