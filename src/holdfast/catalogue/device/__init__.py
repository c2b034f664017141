"""Causes that live in a GPU or a TPU."""
