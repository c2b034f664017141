"""A program that never closes its files meets the limit of open ones."""

from bench.strike import committed

strike = committed("many-files", "too-many-open-files")
