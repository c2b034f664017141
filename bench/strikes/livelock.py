"""An endless loop in the user's code: busy, and no step is taken any more."""

from bench.strike import Since, committed

strike = committed("livelock", "livelock", since=Since.STRIKE)
