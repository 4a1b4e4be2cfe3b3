"""Calling a finished function: its signature, arguments and options, the call in the sandbox, its cache and outputs."""
