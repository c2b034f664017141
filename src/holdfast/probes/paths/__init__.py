"""Looks at addresses from here: who answers, how fast, and whom they can see."""

from holdfast.probes.paths.looking import look_at, look_nearby, probe_paths
from holdfast.probes.paths.measuring import measure_paths
from holdfast.probes.paths.peers import probe_peers
from holdfast.probes.paths.place import Place
from holdfast.probes.paths.tf_server import Answer, ask_peers, ask_status

__all__ = [
    "Answer",
    "Place",
    "ask_peers",
    "ask_status",
    "look_at",
    "look_nearby",
    "measure_paths",
    "probe_paths",
    "probe_peers",
]
