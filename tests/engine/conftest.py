from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.theatre import Theatre


@pytest.fixture
def theatre(tmp_path: Path) -> Iterator[Theatre]:
    yield Theatre(tmp_path / ".autocode", "local")
