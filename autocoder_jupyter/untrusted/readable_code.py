"""Python source without hidden characters, for files that a person reads or reviews as a diff."""

from __future__ import annotations

from autocoder_jupyter.untrusted.parsing import same_code, visible_block


def readable_code(source: str) -> str:
    """The source with escapes for hidden characters. It is the same code: in strings they have the same meaning, in
    comments none. If the escapes would change the code, because it is broken or has such characters elsewhere, it is
    unchanged.
    """
    shown = visible_block(source)
    try:
        return shown if shown == source or same_code(shown, source) else source
    except SyntaxError:
        return source
