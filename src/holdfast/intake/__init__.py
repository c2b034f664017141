"""What a user points at: definitions, job files and records, read and bounded."""
