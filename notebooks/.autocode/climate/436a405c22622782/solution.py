import calendar

import pandas as pd
from matplotlib.figure import Figure

MONTHS = range(1, 13)


def run(weather: pd.DataFrame) -> tuple[Figure, str]:
    if weather.empty:
        raise ValueError("The weather table is empty, so there is no wettest month.")
    month = weather["date"].dt.month
    sums = weather["precipitation"].fillna(0).groupby([weather["date"].dt.year, month]).sum()
    rain = sums.groupby(level=1).mean()
    high = weather["temp_max"].groupby(month).mean().reindex(MONTHS)
    low = weather["temp_min"].groupby(month).mean().reindex(MONTHS)
    return draw(rain.reindex(MONTHS), high, low), calendar.month_name[int(rain.idxmax())]


def draw(rain: pd.Series, high: pd.Series, low: pd.Series) -> Figure:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left = figure.add_subplot()
    bars = left.bar(list(MONTHS), rain.to_numpy(), color="#9ecae1", label="precipitation")
    left.set_ylabel("precipitation (mm)")
    left.set_xticks(list(MONTHS), [calendar.month_abbr[number] for number in MONTHS])

    right = left.twinx()
    (high_line,) = right.plot(list(MONTHS), high.to_numpy(), color="#d94801", marker="o", label="mean daily high")
    (low_line,) = right.plot(list(MONTHS), low.to_numpy(), color="#2171b5", marker="o", label="mean daily low")
    right.set_ylabel("temperature (°C)")
    left.legend(handles=[bars, high_line, low_line], loc="upper center", ncols=3, frameon=False)
    left.set_ylim(0, float(rain.max()) * 1.25 if rain.max() > 0 else 1.0)
    left.set_title("Climate by month")
    return figure
