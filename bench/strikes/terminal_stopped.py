"""The terminal takes no more output: whoever shows the job stands still."""

from bench.blows import front_stopped
from bench.strike import harmless

strike = harmless(front_stopped)
