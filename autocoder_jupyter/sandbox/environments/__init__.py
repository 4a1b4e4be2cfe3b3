"""Environments of exact packages: resolved and named, cached, locked while in use, cleaned up."""
