"""Functions outside of their notebook: as a task of a pipeline, or exported as a script or a package.

The package may import `calls`, `engine.packages` and what is below them.

- `task`: a function as a callable object that can be pickled
- `export`: a script with its tests; code of a model, made readable and renamed
- `command_line`: the command line of a script; its fixed parts are the source of `script_parts`
- `figures_as_data`: figures for exported tests, copied as text
- `package`: an installable folder
- `flyte`: tasks of Flyte, in this process and in a package
"""
