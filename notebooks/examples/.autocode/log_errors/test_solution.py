import pytest
from solution import run

LINES = """\
2024-03-01 08:00:00 INFO  [shop] open
2024-03-01 08:00:01 WARN  [pay] slow
2024-03-01 08:00:02 ERROR [pay] refused id=1
2024-03-01 08:00:03 ERROR [shop] closed
2024-03-01 08:00:04 ERROR [pay] refused id=2
not a line of this form
"""


def log(tmp_path, text):
    path = tmp_path / "a.log"
    path.write_text(text)
    return path


def test_counts_by_component(tmp_path):
    """Count the lines by component: component, info, warn, error, sorted by component."""
    table, _, _, _ = run(log=log(tmp_path, LINES))
    assert table.values.tolist() == [["pay", 0, 1, 2], ["shop", 1, 0, 1]]


def test_errors_in_all(tmp_path):
    """total_errors counts the lines of level ERROR; has_critical_errors says whether there is one."""
    _, total, _, critical = run(log=log(tmp_path, LINES))
    assert (total, critical) == (3, True)


def test_the_worst(tmp_path):
    """worst_component is the component with the most errors."""
    assert run(log=log(tmp_path, LINES))[2] == "pay"  # 2 of 3


def test_a_tie_is_decided_by_name(tmp_path):
    """Of several with the most errors the first by name is the worst, whoever came first."""
    text = "2024-03-01 08:00:00 ERROR [z] x\n2024-03-01 08:00:01 ERROR [b] y\n"
    assert run(log=log(tmp_path, text))[2] == "b"


@pytest.mark.parametrize(("level", "rows"), [
    ("INFO", [["pay", 0, 1, 2], ["shop", 1, 0, 1]]),
    ("WARN", [["pay", 0, 1, 2], ["shop", 0, 0, 1]]),
    ("ERROR", [["pay", 0, 0, 2], ["shop", 0, 0, 1]]),
])
def test_at_least_the_level(tmp_path, level, rows):
    """INFO takes all, WARN takes WARN and ERROR, ERROR only ERROR."""
    assert run(log=log(tmp_path, LINES), level=level)[0].values.tolist() == rows


def test_other_lines_stop_nothing(tmp_path):
    """A line that has not this form is left out and stops nothing."""
    table, total, _, _ = run(log=log(tmp_path, "garbage\n\n[pay] ERROR\n"))
    assert len(table) == 0 and total == 0


def test_an_empty_log(tmp_path):
    """No lines: no rows, 0, an empty name, and no critical errors."""
    table, total, worst, critical = run(log=log(tmp_path, ""))
    assert list(table.columns) == ["component", "info", "warn", "error"]
    assert (len(table), total, worst, critical) == (0, 0, "", False)
