"""What processes are doing, by what the kernel tells of them: none of them is touched."""

from holdfast.probes.activity.look import activities
from holdfast.probes.activity.sample import PROCESSES_MAX, Sample, take_sample
from holdfast.probes.activity.surroundings import Surroundings

__all__ = ["PROCESSES_MAX", "Sample", "Surroundings", "activities", "take_sample"]
