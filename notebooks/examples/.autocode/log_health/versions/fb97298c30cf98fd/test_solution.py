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


def test_lines_are_counted_by_level_and_component(tmp_path):
    """The report counts the lines by level and by component."""
    report, total_errors, _, critical = run(log=log(tmp_path, *MIXED), level="INFO")
    assert report["total_lines"] == 5
    assert report["by_level"] == {"INFO": 1, "WARN": 1, "ERROR": 3}
    assert report["by_component"] == {
        "mail": {"info": 1, "warn": 0, "error": 2},
        "disk": {"info": 0, "warn": 1, "error": 1},
    }
    assert (total_errors, critical) == (3, True)


def test_the_worst_component_has_most_errors(tmp_path):
    """worst_component is the component with the most errors."""
    assert run(log=log(tmp_path, *MIXED), level="INFO")[2] == "mail"  # 2 of 3


def test_a_tie_goes_to_the_component_that_failed_first(tmp_path):
    """Of components with equally many errors, the one whose first ERROR line comes earliest is the worst."""
    lines = (
        "2024-03-01 12:00:00 INFO  [auth] ready",
        "2024-03-01 12:00:01 ERROR [web] x",
        "2024-03-01 12:00:02 ERROR [auth] y",
    )
    assert run(log=log(tmp_path, *lines), level="INFO")[2] == "web"


@pytest.mark.parametrize(("level", "lines"), [("INFO", 5), ("WARN", 4), ("ERROR", 3)])
def test_only_lines_of_at_least_the_level_count(tmp_path, level, lines):
    """INFO takes all, WARN takes WARN and ERROR, ERROR only ERROR."""
    report, total_errors, _, _ = run(log=log(tmp_path, *MIXED), level=level)
    assert report["total_lines"] == lines == sum(report["by_level"].values())
    assert total_errors == 3


def test_a_line_of_another_form_is_left_out(tmp_path):
    """A line that has not this form is left out and stops nothing."""
    lines = ("Traceback (most recent call last):", "", "2024-03-01 12:00:00 ERROR [a] x", "ERROR [a] without a time")
    report, total_errors, _, _ = run(log=log(tmp_path, *lines), level="INFO")
    assert (report["total_lines"], total_errors) == (1, 1)


def test_a_word_in_a_message_is_no_error(tmp_path):
    """Only the level of a line makes it an error."""
    lines = ("2024-03-01 12:00:00 INFO  [a] ERROR is only a word here",)
    report, total_errors, worst, critical = run(log=log(tmp_path, *lines), level="INFO")
    assert (total_errors, worst, critical, report["error_messages"]) == (0, "", False, [])


def test_times_and_messages(tmp_path):
    """The time range goes from the earliest to the latest line; error messages are the text after the component."""
    report = run(log=log(tmp_path, *MIXED), level="ERROR")[0]
    assert report["time_range"] == {"start": "2024-03-01T12:01:00", "end": "2024-03-01T12:03:00"}
    assert report["error_messages"] == ["not sent id=2", "full", "not sent id=3"]


def test_an_empty_log(tmp_path):
    """No lines give empty texts and lists, and 0 for each count."""
    report, total_errors, worst, critical = run(log=log(tmp_path), level="INFO")
    assert report == {
        "time_range": {"start": "", "end": ""},
        "total_lines": 0,
        "by_level": {"INFO": 0, "WARN": 0, "ERROR": 0},
        "by_component": {},
        "error_messages": [],
    }
    assert (total_errors, worst, critical) == (0, "", False)
