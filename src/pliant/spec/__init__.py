"""The grammar of what a user writes: checked fields, tables over time, sentences about mistakes."""
