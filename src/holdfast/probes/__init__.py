"""What an agent can look at. One file each; none ever blocks a task."""
