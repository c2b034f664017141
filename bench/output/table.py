"""The table of speeds: each way beside the limit of its own round."""

from statistics import median

from bench.output.measure import Outcome
from bench.output.ways import LIMIT

Results = dict[str, list[Outcome]]  # by way, one a round

HEADS = ("MB/s", "of limit", "corrected", "memory MB", "CPU", "others")
WIDTHS = (8, 10, 11, 11, 6, 8)


def rows(results: Results, whys: dict[str, str], title: str, *, saturated: bool) -> list[str]:
    """`CPU` and `others`: shares of all cores, of the tool and of strangers, during the flood."""
    heads = "".join(f"{head:>{width}}" for head, width in zip(HEADS, WIDTHS, strict=True))
    lines = [title, f"{'':26}{heads}  kept"]
    for name, found in results.items():
        if not found:
            lines.append(f"{name:26}not available: {whys.get(name, 'it was not measured')}")
            continue
        faults = [outcome.fault for outcome in found if outcome.fault]
        cells = (
            f"{median(one.mb_a_s for one in found):.1f}",
            _middle(ratios(results, name)),
            _middle(corrected(results, name)) if saturated else "",
            f"{max(one.peak_bytes for one in found) / 1e6:.0f}",
            f"{median(one.cpu_share for one in found):.0%}",
            f"{median(one.others_share for one in found):.0%}",
        )
        shown = "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
        lines.append(f"{name:26}{shown}  {faults[0] if faults else 'whole, in order'}")
    return lines


def ratios(results: Results, name: str) -> list[float]:
    """Each round's speed over the limit's in the same round."""
    pairs = zip(results[name], results[LIMIT.name], strict=False)
    return [one.mb_a_s / limit.mb_a_s for one, limit in pairs]


def corrected(results: Results, name: str) -> list[float]:
    """The same, had strangers taken nothing. It holds only where the children fill all cores."""
    pairs = zip(results[name], results[LIMIT.name], strict=False)
    return [one.alone_mb_s / limit.alone_mb_s for one, limit in pairs]


def _middle(values: list[float]) -> str:
    return f"{median(values):.2f}" if values else ""
