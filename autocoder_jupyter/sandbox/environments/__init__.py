"""Environments with exact versions of packages, for both sandboxes.

- `locking`: resolve packages to a lock file, read the user's own, install it
- `uv`: run uv with the package indexes of the user
- `installed`: environments on this machine: bytecode, damaged files, use, removal
"""
