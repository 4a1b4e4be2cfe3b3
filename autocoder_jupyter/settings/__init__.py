"""The settings: their definitions (`config`), their options in a cell (`option`), their checks (`parameters`)."""
