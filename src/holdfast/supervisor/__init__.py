"""The process that holds a job: agent and coordinator on one machine, started by the front.

It is no command, and imports no more than it needs: it lives as long as the training.
"""
