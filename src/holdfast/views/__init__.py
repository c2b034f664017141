"""Show the journal: text, JSON, the live terminal. Views never decide."""
