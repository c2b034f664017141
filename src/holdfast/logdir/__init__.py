"""The run directory: its layout, the journal, and who may write what."""
