"""The process that thinks: reads a fact, appends it, advances, obeys."""
