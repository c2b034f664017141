"""Causes that come from whoever starts, limits and ends jobs."""
