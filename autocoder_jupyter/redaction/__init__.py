"""Mask private values, and reduce messages to what a sharing level allows, before text leaves the notebook.

Masks what leaves the notebook: patterns of private values (`shapes`, `masking`), values of secrets and variables
(`secrets`), messages of failures by sharing level (`words`), placeholders for file names, records for files, loggers.
"""
