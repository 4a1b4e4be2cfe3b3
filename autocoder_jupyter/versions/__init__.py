"""The versions of a function: each run's folder is a version, and `choice.json` says which version counts.

A run's folder is a version: the fields of a request in its record and its key (`request_fields`, `keys`), differences
between requests (`changes`, `field_changes`), the current version (`store`, `choice`), where its files are (`layout`,
`sources`), the files that say what runs (`top_files`), edits of them (`edits`), the lock of a request (`request_lock`;
`lock_holder`: the process that has it), checks of a report from a file (`report_check`), which of its evidence counts
(`verification`).
"""

from __future__ import annotations

from autocoder_jupyter.versions.store import Version, Versions

__all__ = ["Version", "Versions"]
