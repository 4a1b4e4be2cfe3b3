"""Generations in the background: submitting, waiting, cancelling, superseding."""
