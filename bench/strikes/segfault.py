"""Native code reads what is not there: SIGSEGV."""

from bench.strike import committed

strike = committed("segfault", "crashed")
