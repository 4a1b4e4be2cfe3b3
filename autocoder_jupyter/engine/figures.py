"""Figures of matplotlib, Plotly and Altair: how the code makes one, and what the tests get of it."""

from __future__ import annotations

from autocoder_jupyter.types import CodePlan, FigureKind

_CLASSES: dict[FigureKind, str] = {
    "plotly": "plotly.graph_objects.Figure",
    "altair": "altair.TopLevelMixin",
    "matplotlib": "matplotlib.figure.Figure",
}

_COMES_BACK: dict[FigureKind, str] = {
    "matplotlib": "A Figure comes back with `.png` (bytes), `.width`, `.height` and `.data`: a list of dicts, one a "
    "series, with 'type' ('line', 'bar', 'barh', 'scatter', 'pie', 'image'), 'name', 'x' and 'y' (lists; times as ISO "
    "text, categories as text). Test what is drawn by `.data`, never by its pixels.",
    "plotly": "A Figure comes back with `.kind` ('plotly'), `.spec` (the figure as JSON: a dict with 'data' and "
    "'layout') and `.data` (its traces: a list of dicts with 'type', 'name', 'x', 'y' …, arrays as lists, times as ISO "
    "text). It is no picture: test what it shows by these.",
    "altair": "A Figure comes back with `.kind` ('altair'), `.spec` (its Vega-Lite specification as a dict) and "
    "`.data` (the rows of its tables as dicts, times as ISO text). It is no picture: test what it shows by these.",
}


def figure_kind(plan: CodePlan) -> FigureKind:
    """The plotting library of the plan."""
    packages = {package.strip().lower() for package in plan.packages}
    return next((kind for kind in _CLASSES if kind in packages), "matplotlib")


def figure_class(plan: CodePlan) -> str:
    """The type of a Figure, as written in the solution."""
    return _CLASSES[figure_kind(plan)]


def how_to_draw(plan: CodePlan) -> str:
    """The rule for the writer of the code."""
    if figure_kind(plan) == "matplotlib":
        return "- draws a Figure with matplotlib's `Figure` and returns it; it is not shown and not saved."
    return f"- returns the Figure as a {figure_class(plan)} with its data in it; it is not shown and not saved."


def how_it_comes_back(plan: CodePlan) -> str:
    """The rule for the writer of the tests."""
    return _COMES_BACK[figure_kind(plan)]
