"""Causes that live in the host."""
