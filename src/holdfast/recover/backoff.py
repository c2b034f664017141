"""How long to wait before the next try: twice as long each time, and not all at once."""

import zlib

FIRST_S, LONGEST_S = 5.0, 300.0
DOUBLINGS_MAX = 16
_SPREAD = 1 << 32


def backoff_s(tries: int, *, seed: int) -> float:
    """Nothing before the first try; then between half of the time and all of it.

    Chance is the seed: the same journal waits equally long wherever it is replayed.
    """
    if tries == 0:
        return 0.0
    whole_s = min(LONGEST_S, FIRST_S * (1 << min(tries - 1, DOUBLINGS_MAX)))
    share = zlib.crc32(f"{seed}:{tries}".encode()) / _SPREAD
    return round(whole_s * (1 + share) / 2, 3)
