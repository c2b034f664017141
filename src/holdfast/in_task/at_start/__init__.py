"""Its folder alone stands on the path while a task's Python starts: nothing else may be here."""
