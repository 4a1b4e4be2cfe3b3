"""Trust in a folder that somebody else may have written: what it asks for, and what the person agreed to.

What a folder can do without harm, it does. Each thing beyond that is a `Wish`: an address, a variable, a package, an
index. A person agrees to them with `%autocode trust`. The yes is kept outside of the folder, in the person's own
configuration, for that folder and exactly these wishes: when one of them changes, it no longer holds.

    wishes = [Wish("lock of growth", "package", "left-pad==1.0", "it is installed into the sandbox")]
    if trust_in(folder).covers(wishes):  # True for no wishes; False until a person said yes to exactly these
        ...

Whoever finds wishes of a new kind names them in `magics/wishes.py`, for the card and `%autocode trust`.
"""

from __future__ import annotations

from autocoder_jupyter.trust.record import agree, trust_in, withdraw
from autocoder_jupyter.trust.wishes import FolderTrust, Wish

__all__ = ["FolderTrust", "Wish", "agree", "trust_in", "withdraw"]
