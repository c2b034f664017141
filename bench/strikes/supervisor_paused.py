"""The supervisor and its own processes stand still for two seconds."""

from bench.blows import supervisor_paused
from bench.strike import harmless

strike = harmless(supervisor_paused)
