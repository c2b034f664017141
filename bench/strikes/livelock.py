"""An endless loop in the user's code: busy, and no step is taken any more.

Nobody can tell it from long work by looking: the notice says who keeps whom waiting.
"""

from bench.strike import Since, committed

strike = committed("livelock", "keeps-waiting livelock", since=Since.STRIKE)
