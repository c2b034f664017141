"""What runs inside of a task: standard library only, any Python 3, and never in its way."""
