"""SIGSTOP for two seconds: a debugger that looked, a host that was moved."""

from bench.blows import paused
from bench.strike import harmless

strike = harmless(paused)
