"""Two threads of the user's code hold what the other one needs."""

from bench.strike import Since, committed

strike = committed("deadlock", "user-deadlock", since=Since.STRIKE)
