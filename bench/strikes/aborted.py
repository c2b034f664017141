"""A failed CHECK: SIGABRT."""

from bench.strike import committed

strike = committed("abort", "crashed")
