"""Asks servers whom they can see: who waits for whom, by their own word."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from holdfast.model.facts import PeersListed
from holdfast.model.path import Outcome
from holdfast.probes.paths.place import Place, at_once
from holdfast.probes.paths.tf_server import ask_peers, ask_status, import_grpc

PEERS_S = 3.0
ALIVE_S = 2.0
AT_ONCE_MAX = 64


def probe_peers(
    places: Iterable[Place],
    *,
    at_s: Callable[[], float],
    host: str,
    deadline_s: float = PEERS_S,
    at_once_max: int = AT_ONCE_MAX,
) -> list[PeersListed]:
    """What each live server sees, in the order of the places; nothing of those that are not.

    Ask only servers of a cluster that is starting or stuck: one that misses a peer waits for
    it on our behalf from then on, and writes so into its log.
    """
    import_grpc()
    with ThreadPoolExecutor(at_once(at_once_max), "peers") as asking:
        answers = asking.map(lambda place: _ask(place, at_s, host, deadline_s), places)
        return [fact for fact in answers if fact is not None]


def _ask(
    place: Place, at_s: Callable[[], float], host: str, deadline_s: float
) -> PeersListed | None:
    """A server that does not even tell its name is stalled, and waits for nobody."""
    if ask_status(place.address, deadline_s=ALIVE_S).outcome != Outcome.ANSWERED:
        return None
    answer = ask_peers(place.address, deadline_s=deadline_s)
    if answer.outcome not in {Outcome.ANSWERED, Outcome.STALLED}:
        return None
    sees: dict[str, int] = {}
    for device in answer.devices:
        sees.setdefault(device.task, device.incarnation)
    return PeersListed(
        at_s=at_s(),
        host=host,
        task=place.target,
        address=place.address,
        answered=answer.outcome == Outcome.ANSWERED,
        sees=sees,
        waited_s=answer.took_s,
    )
