"""Merges plain HDF5 files, whoever wrote them: dataset after dataset, or a group for each file."""
