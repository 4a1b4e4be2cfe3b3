"""Describe data for the model: profiles, samples, schemas, constraints and drift."""
