"""The user's own code raises."""

from bench.strike import committed

strike = committed("exception", "user-exception")
