"""Which small inputs a model may see."""

from __future__ import annotations

from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.second_opinion.trial import SmallInput
from autocoder_jupyter.redaction.masking import Masker


def may_be_told(setup: GenerationSetup, small: SmallInput) -> bool:
    """Whether the model may see an input: made-up values always, values of the data only if rows are shared.

    The input has all columns, so the answer is no if a column is hidden, or if a name of a column is private.
    """
    config = setup.config
    if config.hide or Masker().mask(small.source) != small.source:
        return False
    return small.is_made_up or (setup.share_of_runs == "rows" and config.max_sample_rows > 0)
