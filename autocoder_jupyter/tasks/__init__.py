"""Functions outside of their notebook: as a task of a pipeline, or exported as a script.

A function outside of its notebook: `as_task`, `export` (a script with its `harness`; `script_parts`: fixed parts of
the script; `quoting`: text from others as comments and literals; `renamed`: a function under another name;
`readable`: code without hidden characters).
"""
