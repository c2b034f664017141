"""The process on each host: starts tasks, runs probes, reports, obeys."""
