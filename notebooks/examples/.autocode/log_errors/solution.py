import re
from collections import Counter
from pathlib import Path

import pandas as pd

SEVERITY = {"INFO": 0, "WARN": 1, "ERROR": 2}
LINE = re.compile(r"\d{4}-\d{2}-\d{2}\s+\d{2}:\d{2}:\d{2}\s+(INFO|WARN|ERROR)\s+\[([^\]]+)\](?:\s.*)?")


def run(log: Path, level: str = "INFO") -> tuple[pd.DataFrame, int, str, bool]:
    """Lines of at least a level by component, and where the errors are."""
    if level not in SEVERITY:
        raise ValueError(f"level must be INFO, WARN or ERROR, not {level!r}.")
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        match = LINE.fullmatch(line.strip())
        if match and SEVERITY[match[1]] >= SEVERITY[level]:
            counts[match[2], match[1]] += 1
    components = sorted({component for component, _ in counts})
    rows = [(name, *(counts[name, wanted] for wanted in SEVERITY)) for name in components]
    types = {"component": "str", "info": "int64", "warn": "int64", "error": "int64"}
    table = pd.DataFrame(rows, columns=list(types)).astype(types)
    errors = {name: counts[name, "ERROR"] for name in components if counts[name, "ERROR"]}
    total = sum(errors.values())
    worst = max(errors, key=lambda name: errors[name], default="")
    return table, total, worst, total > 0
