"""Environments with exact versions of packages: resolver, keys, cache, usage locks, cleanup.

Exact packages: `locking` with uv (`pins`: the lines of a lock file, `pylock`: the user's own, `package_index`),
`contents` (of a complete environment), `usage_locks` and `cleanup`.
"""
