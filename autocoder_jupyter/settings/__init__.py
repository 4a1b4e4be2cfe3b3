"""The settings: the only definition of each, and what is derived from it.

- `config`: `AgentConfig`, with every setting
- `setting`: the metadata of a setting: its options, and its entry on JupyterLab's settings page
- `parameters`: checks of values
- `choices`: the values of settings that are a choice, one record each

`%load_ext` imports this package, so it imports no pydantic at module level.
"""
