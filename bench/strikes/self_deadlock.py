"""A thread waits for a lock that it holds itself."""

from bench.strike import Since, committed

strike = committed("self-deadlock", "user-deadlock", since=Since.STRIKE)
