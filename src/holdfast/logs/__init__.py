"""Reads the logs that somebody hands us: any size, any content, within bounds, and fast."""
