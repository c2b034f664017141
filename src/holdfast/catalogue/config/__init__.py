"""Causes that live in the config."""
