"""The settings: their definitions (`config` and its parts), their options (`option`), their checks (`parameters`)."""
