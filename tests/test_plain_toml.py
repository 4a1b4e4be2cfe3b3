import pytest

from autocoder_jupyter.plain_toml import DOTS, parse


def test_ordinary_toml_is_read():
    assert parse('[a.b]\nc = ["1.2.3", {d = 1}]') == {"a": {"b": {"c": ["1.2.3", {"d": 1}]}}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a." * 250_000 + "b = 1", id="a key of very many parts"),
        pytest.param("x = {" + "a." * DOTS + "a.b = 1}", id="such a key inside"),
        pytest.param("[" + "a." * DOTS + "a.b]", id="such a table"),
        pytest.param("x = " + "[" * 100_000, id="a bomb of brackets"),
        pytest.param("x = [", id="cut short"),
    ],
)
def test_what_would_break_or_hold_its_reader_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse(text)
