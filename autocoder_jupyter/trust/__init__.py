"""Trust in a folder from an untrusted source: the permissions that it asks for, and those that were granted.

Settings that can do no harm are used at once. Everything else is a `Permission`: an address, a variable, a package or
an index. The user grants them with `%autocode trust`. The grant is stored outside of the folder, in the user's own
configuration. It is valid for that folder and for exactly these permissions: it ends when one of them changes.

    permissions = [Permission("lock of growth", "package", "left-pad==1.0", "it is installed into the sandbox")]
    if trust_in(folder).covers(permissions):  # True if there are none, or if exactly these were granted
        ...

A new kind of permission is added in `magics/permissions.py`, so that the card and `%autocode trust` show it. The
package may import `errors`, `untrusted` and `version` only.

- `permissions`: permissions, and the record of those that were granted
- `answers`: the questions about functions that the user has answered
- `own_files`: the user's own files, which no folder can supply
- `seals`: seals of records, with a key of the user
- `formats`: the format of records, and what is told of one that a later version wrote
"""

from __future__ import annotations

from autocoder_jupyter.trust.permissions import FolderTrust, Permission, agree, trust_in, withdraw

__all__ = ["FolderTrust", "Permission", "agree", "trust_in", "withdraw"]
