"""The versions of a function: each run's folder is a version, and `choice.json` says which version counts.

- `store`: the folders of versions, what is read of them, and which version counts
- `edits`: the files at the top of a function's folder that show what runs, and the user's edits
- `verification`: which evidence of a version counts
- `report_check`: checks a report from an untrusted file
- `request_fields`, `field_changes`: the fields of a request in its record and its key, and how two requests differ
- `request_lock`: one process at a time works on a request
"""

from __future__ import annotations

from autocoder_jupyter.versions.store import Version, Versions

__all__ = ["Version", "Versions"]
