"""A task writes 200 MB of lines at once."""

from bench.strike import harmless

strike = harmless(commits="flood")
