import pytest
from solution import run


def log(tmp_path, *lines):
    path = tmp_path / "service.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


MIXED = (
    "2024-03-01 12:00:00 INFO  [mail] sent id=1",
    "2024-03-01 12:00:05 WARN  [disk] 90% full",
    "2024-03-01 12:01:00 ERROR [mail] not sent id=2",
    "2024-03-01 12:02:00 ERROR [disk] full",
    "2024-03-01 12:03:00 ERROR [mail] not sent id=3",
)


def test_lines_are_counted_by_component_and_level(tmp_path):
    """The lines are counted by component: component, info, warn, error, sorted by component."""
    table, total, _, critical = run(log=log(tmp_path, *MIXED), level="INFO")
    assert list(table.columns) == ["component", "info", "warn", "error"]
    assert table.values.tolist() == [["disk", 0, 1, 1], ["mail", 1, 0, 2]]
    assert (total, critical) == (3, True)


def test_the_worst_component_has_most_errors(tmp_path):
    """worst_component is the component with the most errors, not with the most lines."""
    lines = ("2024-03-01 12:00:00 INFO  [a] x",) * 3 + ("2024-03-01 12:00:01 ERROR [b] y",)
    assert run(log=log(tmp_path, *lines), level="INFO")[2] == "b"


def test_of_several_the_first_by_name(tmp_path):
    """Of several components with the most errors, the first by name is the worst."""
    lines = ("2024-03-01 12:00:00 ERROR [web] x", "2024-03-01 12:00:01 ERROR [auth] y")
    assert run(log=log(tmp_path, *lines), level="INFO")[2] == "auth"


@pytest.mark.parametrize(("level", "lines"), [("INFO", 5), ("WARN", 4), ("ERROR", 3)])
def test_lines_of_at_least_the_level_count(tmp_path, level, lines):
    """INFO takes all, WARN takes WARN and ERROR, ERROR only ERROR."""
    table, total, _, _ = run(log=log(tmp_path, *MIXED), level=level)
    assert int(table[["info", "warn", "error"]].to_numpy().sum()) == lines
    assert total == 3


def test_a_line_of_another_form_is_left_out(tmp_path):
    """A line that has not this form is left out and stops nothing."""
    lines = ("Traceback (most recent call last):", "", "2024-03-01 12:00:00 ERROR [a] x", "ERROR [a] without a time")
    table, total, _, _ = run(log=log(tmp_path, *lines), level="INFO")
    assert table.values.tolist() == [["a", 0, 0, 1]] and total == 1


def test_a_word_in_a_message_is_no_error(tmp_path):
    """Only the level of a line counts, not the words of its message."""
    table, total, worst, critical = run(log=log(tmp_path, "2024-03-01 12:00:00 INFO  [a] ERROR is a word"), level="INFO")
    assert (total, worst, critical) == (0, "", False)
    assert table.values.tolist() == [["a", 1, 0, 0]]


def test_an_empty_log(tmp_path):
    """No lines give no components, 0 errors and an empty name."""
    table, total, worst, critical = run(log=log(tmp_path), level="INFO")
    assert list(table.columns) == ["component", "info", "warn", "error"] and len(table) == 0
    assert (total, worst, critical) == (0, "", False)
