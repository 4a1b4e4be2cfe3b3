import re
from collections import Counter
from pathlib import Path

SEVERITY = {"INFO": 0, "WARN": 1, "ERROR": 2}
LINE = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})\s+(?P<time>\d{2}:\d{2}:\d{2})\s+(?P<level>INFO|WARN|ERROR)\s+"
    r"\[(?P<component>[^\]]+)\]\s+(?P<message>.*)"
)


def run(log: Path, level: str = "INFO") -> tuple[dict, int, str, bool]:
    """Counts by level and component of the lines of at least a level."""
    if level not in SEVERITY:
        raise ValueError(f"level must be INFO, WARN or ERROR, not {level!r}.")
    text = log.read_text(encoding="utf-8", errors="replace")
    found = [match for line in text.splitlines() if (match := LINE.fullmatch(line.strip()))]
    lines = [match for match in found if SEVERITY[match["level"]] >= SEVERITY[level]]

    times = sorted(f"{line['date']}T{line['time']}" for line in lines)
    levels = Counter(line["level"] for line in lines)
    by_component: dict[str, dict[str, int]] = {}
    for line in lines:
        counts = by_component.setdefault(line["component"], {"info": 0, "warn": 0, "error": 0})
        counts[line["level"].lower()] += 1
    report = {
        "time_range": {"start": times[0] if times else "", "end": times[-1] if times else ""},
        "total_lines": len(lines),
        "by_level": {name: levels[name] for name in SEVERITY},
        "by_component": by_component,
        "error_messages": [line["message"] for line in lines if line["level"] == "ERROR"],
    }
    errors = Counter(line["component"] for line in lines if line["level"] == "ERROR")
    worst = max(errors, key=lambda name: errors[name], default="")  # of several the first, in the order of the log
    return report, levels["ERROR"], worst, levels["ERROR"] > 0
