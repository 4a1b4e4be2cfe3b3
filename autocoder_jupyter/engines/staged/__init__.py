"""The writer by stages: one question each for code and tests, then diagnosis and fixes."""
