"""A thread waits for a lock whose holder has ended."""

from bench.strike import Since, committed

strike = committed("orphaned-lock", "user-deadlock", since=Since.STRIKE)
