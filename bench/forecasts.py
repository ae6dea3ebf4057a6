"""Forecasts beside those of statsforecast, on series that come with Python packages and on drawn ones.

Usage: python bench/forecasts.py [NAME ...] [--ncde PATH]     (after `cargo build --release -p ncde-cli`; pip install statsforecast statsmodels pmdarima vega_datasets)

The last 15 % of each series (one horizon at least) are forecast from up to six observations, evenly spaced. The peers are fitted anew to all before each of them, and are told the period;
`ncde` is trained once, on what is before the first one, with every default. Printed: the mean of |error| / mean |x_t - x_{t-m}| (MASE), and the share of values in the 90 % intervals.
Taken as they are on 2026-11-19; the drawn ones are `load`, `interm`, `stores`, `monthly` and `walk`.
"""
import argparse, json, pathlib, subprocess, tempfile, time, warnings
import numpy as np, pandas as pd

HERE = pathlib.Path(__file__).parent


def series():
    """Name, values by id, horizon, period, and the step of time."""
    import pmdarima.datasets as pm, statsmodels.api as sm, vega_datasets
    vega = pathlib.Path(vega_datasets.__file__).parent / "_data"
    table = lambda name: pd.read_csv(vega / name)
    yield "air", {"a": pm.load_airpassengers()}, 12, 12, "MS"
    yield "ausbeer", {"a": (x := pm.load_ausbeer())[~np.isnan(x)]}, 8, 4, "QS"
    yield "austres", {"a": pm.load_austres()}, 8, 4, "QS"
    yield "heartrate", {"a": pm.load_heartrate()}, 10, 1, "s"
    yield "lynx", {"a": pm.load_lynx()}, 5, 1, "YS"
    yield "wineind", {"a": pm.load_wineind()}, 12, 12, "MS"
    yield "woolyrnq", {"a": pm.load_woolyrnq()}, 8, 4, "QS"
    yield "taylor", {"a": pm.load_taylor()}, 48, 48, "30min"
    yield "sunspots", {"a": np.asarray(pm.load_sunspots())[-1200:]}, 12, 1, "MS"
    yield "co2", {"a": sm.datasets.co2.load_pandas().data["co2"].interpolate().resample("MS").mean().interpolate().values}, 12, 12, "MS"
    yield "elnino", {"a": sm.datasets.elnino.load_pandas().data.drop(columns="YEAR").values.ravel()}, 12, 12, "MS"
    yield "nile", {"a": sm.datasets.nile.load_pandas().data["volume"].values}, 5, 1, "YS"
    macro = sm.datasets.macrodata.load_pandas().data
    yield "macro", {c: macro[c].values for c in "realgdp realcons realinv cpi m1 unemp infl tbilrate".split()}, 8, 4, "QS"
    yield "seattle", {"a": table("seattle-temps.csv").iloc[-4000:, 1].values}, 24, 24, "h"
    yield "sf", {"a": table("sf-temps.csv").iloc[-4000:, 0].values}, 24, 24, "h"
    weather = table("seattle-weather.csv")
    for name, column, h in [("rain", "precipitation", 7), ("tmax", "temp_max", 14), ("wind", "wind", 7)]:
        yield name, {"a": weather[column].values}, h, 7, "D"
    jobs = table("us-employment.csv").select_dtypes("number")
    yield "employ", {c: jobs[c].values for c in jobs.columns[:12]}, 12, 12, "MS"
    yield "stocks", {k: v["price"].values for k, v in table("stocks.csv").groupby("symbol") if len(v) > 80}, 12, 1, "MS"
    draw, t = np.random.default_rng(1), np.arange(24 * 7 * 26)
    hour, day, wander, rest = t % 24, t // 24 % 7, np.zeros(len(t)), np.zeros(len(t))
    for i in range(1, len(t)):
        wander[i], rest[i] = 0.995 * wander[i - 1] + draw.normal(0, 0.5), 0.9 * rest[i - 1] + draw.normal(0, 5)
    cold = np.maximum(6 + 8 * np.cos(2 * np.pi * t / 24 / 365) - 4 * np.sin(2 * np.pi * (hour - 9) / 24) - wander, 0)
    shape = 60 * np.exp(-(((hour - 8) / 3) ** 2)) + 90 * np.exp(-(((hour - 19) / 3.5) ** 2)) - 50 * (day >= 5) * np.exp(-(((hour - 12) / 6) ** 2))
    yield "load", {"a": 500 + shape + 6 * cold + rest}, 24, 24, "h"
    draw = np.random.default_rng(0)
    demand = lambda: np.where(draw.random(200) < draw.uniform(0.1, 0.5), draw.poisson(draw.uniform(1, 8), 200) + 1, 0)
    yield "interm", {f"s{i}": demand() for i in range(20)}, 8, 1, "W"
    t = np.arange(730)
    def store():
        week, level = draw.uniform(0.7, 1.4, 7), draw.uniform(50, 400) * np.exp(np.cumsum(draw.normal(0, 0.01, 730)))
        year = 1 + 0.2 * np.sin(2 * np.pi * (t / 365.25 + draw.random()))
        return np.round(level * (week / week.mean())[t % 7] * year * (1 + 0.5 * (draw.random(730) < 0.05)) * np.exp(draw.normal(0, 0.1, 730)))
    yield "stores", {f"s{i}": store() for i in range(20)}, 14, 7, "D"
    m = np.arange(132)
    month = lambda: np.exp(5 + draw.normal() + np.cumsum(draw.normal(0.004, 0.02, 132)) + draw.normal(0, 0.15, 12)[m % 12] + draw.normal(0, 0.03, 132))
    yield "monthly", {f"s{i}": month() for i in range(12)}, 12, 12, "MS"
    yield "walk", {"a": 100 + np.cumsum(draw.normal(0, 1, 600))}, 12, 1, "D"


def peers(m):
    from statsforecast.models import AutoETS, AutoTheta, SeasonalNaive
    return {"seasonal naive": SeasonalNaive(season_length=m), "AutoETS": AutoETS(season_length=m), "AutoTheta": AutoTheta(season_length=m)}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--ncde", default=HERE.parent / "target/release/ncde")
    given, ratios = arguments.parse_args(), []
    warnings.filterwarnings("ignore")
    for name, values, h, m, step in series():
        if given.names and name not in given.names:
            continue
        cuts, scale, frames = {}, {}, {}
        for key, y in values.items():
            y = np.asarray(y, float)
            n, held = len(y), max(h, int(0.15 * len(y)))
            cuts[key] = sorted(set(np.linspace(n - held, n - h, min(6, held - h + 1)).round().astype(int)))
            scale[key] = np.abs(y[m : n - held] - y[: n - held - m]).mean()
            frames[key] = pd.DataFrame({"id": key, "time": pd.date_range("2000-01-01", periods=n, freq=step), "value": y})
        until = lambda j: pd.concat(frames[k].iloc[: cuts[k][j]] for k in frames)
        error = lambda key, c, forecast: np.abs(np.asarray(forecast) - frames[key]["value"].values[c : c + h]).mean() / scale[key]
        scores = {what: np.mean([error(k, c, peer.forecast(frames[k]["value"].values[:c], h)["mean"]) for k in frames for c in cuts[k]]) for what, peer in peers(m).items()}
        with tempfile.TemporaryDirectory() as folder:
            train, known, out, model = (f"{folder}/{file}" for file in ["train.csv", "known.csv", "out.csv", "model"])
            until(0).to_csv(train, index=False)
            run = lambda *command: subprocess.run([given.ncde, *command], check=True, capture_output=True)
            begun, ours, held = time.time(), [], []
            run("train", "--data", train, "--set", "task=forecast", "--set", f"horizon={h}", "--out", model)
            seconds = time.time() - begun
            for j in range(len(next(iter(cuts.values())))):
                until(j).to_csv(known, index=False)
                run("predict", model, "--data", known, "--output", out)
                for key, rows in pd.read_csv(out, dtype={"id": str}).groupby("id"):
                    c = cuts[key][j]
                    ours.append(error(key, c, rows["value"]))
                    if "value_low" in rows:
                        truth = frames[key]["value"].values[c : c + h]
                        held.append(((rows["value_low"] <= truth) & (truth <= rows["value_high"])).mean())
        ratios.append([np.mean(ours) / score for score in scores.values()])
        others = "  ".join(f"{what} {score:.3f}" for what, score in scores.items())
        print(f"{name:10} ncde {np.mean(ours):.3f}  {others}  in intervals {np.mean(held) if held else float('nan'):.2f}  {seconds:.1f} s", flush=True)
    print("geometric mean of ratios to", dict(zip(peers(1), np.exp(np.log(ratios).mean(0)).round(3))))


main()
