"""The settings: their definitions (`config` and its parts), their options (`option`), their checks (`parameters`).

The only definition of every setting (`config`, made of `generation`, `access` and `advanced`), and what is derived
from it: its check (`parameters`), its options, its entry on JupyterLab's settings page; `tiers`: the tiers of
sandboxes, and which of them meet a minimum.
"""
