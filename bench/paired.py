"""What many pairs of measurements tell together, on a machine that others use too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z_95 = 1.96  # of the normal distribution: 95 % lie within


@dataclass(frozen=True, slots=True)
class Ratio:
    """One thing over the other, and where it lies with 95 % confidence."""

    middle: float
    low: float
    high: float
    pairs: int

    def eased(self, by: float) -> "Ratio":
        """With what is above 1 (or below) divided by this."""
        middle, low, high = (1 + (one - 1) / by for one in (self.middle, self.low, self.high))
        return Ratio(middle, low, high, self.pairs)

    def __str__(self) -> str:
        return f"{self.middle:.4f} (95 % of {self.pairs} pairs: {self.low:.4f} to {self.high:.4f})"


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Of `(before, after)`, after over before: the Hodges-Lehmann centre of the log ratios.

    The median of all means of two: a stranger's burst in a few windows does not move it, and it
    wastes less of the others than a plain median. The interval is that of Wilcoxon's test.
    """
    before, after = np.array(pairs).T
    logs = np.log(after / before)
    count = len(logs)
    of_two = np.add.outer(logs, logs)[np.triu_indices(count)] / 2
    means = np.sort(of_two)
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    first = max(0, math.floor(len(means) / 2 - Z_95 * spread))
    low, high = means[first], means[len(means) - 1 - first]
    middle, low, high = (math.exp(one) for one in (np.median(means), low, high))
    return Ratio(middle, low, high, count)
