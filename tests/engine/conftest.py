from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner import Runner


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    yield Runner(tmp_path / ".autocode", "local")
