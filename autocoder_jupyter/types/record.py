"""What all records are made of: the frozen base, and fields with bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autocoder_jupyter.kinds.element_types import canonical


class Record(BaseModel):
    """A frozen record. Unknown keys are ignored, because models like to add some.

    It may come from a stranger's file, so its numbers are such as can be shown and computed with.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


Count = Annotated[int, Field(ge=0, le=2**53)]
"""How many of something."""


Elements = Annotated[str, AfterValidator(canonical)]
"""The type of what a list or dict holds; "" where nobody said."""
