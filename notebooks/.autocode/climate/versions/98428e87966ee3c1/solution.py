import pandas as pd
from matplotlib.figure import Figure

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def run(weather: pd.DataFrame) -> tuple[Figure, str]:
    year = weather["date"].dt.year.rename("year")
    month = weather["date"].dt.month.rename("month")
    sums = weather["precipitation"].fillna(0.0).groupby([year, month]).sum()
    rain = sums.groupby(level="month").mean()
    highs = weather["temp_max"].groupby(month).mean()
    lows = weather["temp_min"].groupby(month).mean()
    labels = [MONTHS[int(number) - 1][:3] for number in rain.index]

    figure = Figure(figsize=(9, 5), layout="constrained")
    left = figure.add_subplot()
    left.bar(labels, rain.to_numpy(), color="#8fb8de", label="precipitation")
    left.set_ylabel("Precipitation (mm)")
    right = left.twinx()
    right.plot(labels, highs.to_numpy(), color="#c0392b", marker="o", label="mean high")
    right.plot(labels, lows.to_numpy(), color="#2c3e50", marker="o", label="mean low")
    right.set_ylabel("Temperature (°C)")
    figure.legend(loc="outside upper center", ncols=3)

    wettest = MONTHS[int(rain.idxmax()) - 1] if len(rain) else ""
    return figure, wettest
