"""The writer by stages: code and tests each by one question, then diagnosis and fixes."""
