"""Functions outside of their notebook: as a task of a pipeline, or exported as a script or a package.

`as_task`; `export` (a script with its `harness`; `script_parts`: fixed parts of the script; `figures_as_data`: figures
for its tests); `package` (an installable folder); `quoting` (text from others as comments and literals); `renamed` (a
function under another name); `readable` (code without hidden characters); `flyte_task` and `flyte_module` (tasks of
Flyte, here and in a package; `flyte_resolver`: how a cluster finds one).
"""
