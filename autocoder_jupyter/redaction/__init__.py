"""Mask private values, and reduce messages to what a sharing level allows, before text leaves the notebook."""
