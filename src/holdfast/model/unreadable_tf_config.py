"""Whether an exception was raised over a TF_CONFIG that is not JSON."""

from holdfast.model.facts import TracebackSeen
from holdfast.model.pattern import Pattern

READS = Pattern(r"/tfconfig_cluster_resolver\.py:|TF_CONFIG")
JSON_LIBRARY = Pattern(r"/json/(?:__init__|decoder|scanner)\.py:")
WRITE_AS_JSON = "write TF_CONFIG with json.dumps(...), not str(...)"


def is_unreadable_tf_config(seen: TracebackSeen) -> bool:
    is_json = seen.exception.endswith("JSONDecodeError")
    return is_json and READS.search(parsing_frame(seen)) is not None


def parsing_frame(seen: TracebackSeen) -> str:
    """Who asked for what failed: the innermost frame outside of the JSON library itself."""
    frames = [frame for frame in seen.frames if not JSON_LIBRARY.search(frame)]
    return frames[-1] if frames else ""
