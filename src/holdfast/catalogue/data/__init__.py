"""What tasks disagree about, or cannot read."""
