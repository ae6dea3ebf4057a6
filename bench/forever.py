"""A stream that goes on for as long as one likes: whether anything drifts.

Usage: python bench/forever.py [labels|forecast] [--count 10000000] [--model NAME] [--ncde PATH]       (after `cargo build --release -p ncde-cli`)

labels    Two noisy waves a quarter of a turn apart turn fast or slowly, anew every 40 observations; the label is which. A model is trained on
          40 series of 150 observations; the stream is one series made in the same way. Printed for each tenth: the share of wrong classes.
forecast  Hours of two channels with a daily season and noise, one of them with a trend that never ends; 3 % of the rows are left out, and 5 % of
          its values are missing. A model of the next six hours is trained on 4,000 hours; the stream is the hours that follow. Printed for each tenth
          and channel: the mean error beside that of the same hour of the day before, and the share of values in the 90 % intervals.

Every setting is the default. Also printed: how many numbers were not finite, how many observations had no prediction, observations a second.
"""
import argparse, array, math, pathlib, random, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).parent
HOURS = 4000


def waves(seed):
    """Cells of rows and whether they are fast, without an end."""
    draw = random.Random(seed)
    turned, fast, t = draw.uniform(0, 6), False, 0
    while True:
        if t % 40 == 0:
            fast = draw.random() < 0.5
        turned = (turned + (0.4 if fast else 0.15)) % math.tau
        x, y = math.sin(turned) + draw.gauss(0, 0.05), math.cos(turned) + draw.gauss(0, 0.05)
        yield f"{t},{x:.4f},{y:.4f}", fast
        t += 1


def hours(count):
    """Load and heat of every hour; NaN where there is none."""
    draw, slow = random.Random(11), 0.0
    load, heat = array.array("d"), array.array("d")
    for t in range(count):
        slow = 0.7 * slow + draw.gauss(0, 0.5)
        hour = t % 24 * math.tau / 24
        values = [
            1000 + 0.02 * t + 10 * math.sin(hour) + 4 * math.sin(2 * hour + 1) + slow,
            15 + 5 * math.sin(hour - 1) + draw.gauss(0, 0.5),
        ]
        left_out, missing = draw.random() < 0.03, draw.random() < 0.05
        load.append(math.nan if left_out or missing else round(values[0], 4))
        heat.append(math.nan if left_out else round(values[1], 4))
    return load, heat


def train(flags, folder, header, rows, *more):
    data, out = pathlib.Path(folder, "data.csv"), str(pathlib.Path(folder, "run"))
    data.write_text("\n".join([header, *rows]) + "\n")
    model = ["--model", flags.model] if flags.model else []
    subprocess.run([flags.ncde, "train", "--data", data, "--out", out, "--quiet", *model, *more], check=True)
    return out


def stream(flags, out, header, rows):
    """Cells of what is said of the rows, the header first."""
    command = [flags.ncde, "stream", out, "--quiet"]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def feed():
        lines = [header]
        for row in rows:
            lines.append(row)
            if len(lines) >= 1000:
                program.stdin.write("\n".join(lines) + "\n")
                lines = []
        program.stdin.write("\n".join([*lines, ""]))
        program.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    for line in program.stdout:
        yield line.rstrip("\n").split(",")
    if program.wait() != 0:
        sys.exit(f"the stream ended with {program.returncode}")


def labels(flags, folder):
    def told(i):
        return [f"{i},{row},{'fast' if fast else 'slow'}" for _, (row, fast) in zip(range(150), waves(i))]

    out = train(flags, folder, "id,time,x,y,label", (row for i in range(40) for row in told(i)))
    truth = bytearray(flags.count)

    def rows():
        for t, (row, fast) in zip(range(flags.count), waves(1000)):
            truth[t] = fast
            yield "s," + row

    said = stream(flags, out, "id,time,x,y", rows())
    place, wrong, bad, seen = next(said).index("prediction"), 0, 0, 0
    for cells in said:
        wrong += (cells[place] == "fast") != truth[seen]
        bad += not all(math.isfinite(float(cell)) for cell in cells[place + 1 :])
        seen += 1
        if 10 * seen % flags.count == 0:
            print(f"{seen}: {1000 * wrong / flags.count:.3f} % wrong", flush=True)
            wrong = 0
    return seen, bad


def forecast(flags, folder):
    load, heat = hours(HOURS + flags.count)
    row = lambda t: f"{3600 * t},{'' if math.isnan(load[t]) else load[t]},{heat[t]}"
    rows = lambda span: (row(t) for t in span if not math.isnan(heat[t]))
    out = train(flags, folder, "time,load,heat", rows(range(HOURS)), "--set", "task=forecast", "--set", "horizon=6")
    # What was trained on comes first, so that the stream knows what came before it.
    said = stream(flags, out, "time,load,heat", rows(range(HOURS + flags.count)))
    header = next(said)
    at, of = header.index("forecast_time"), [header.index(name) for name in ("load", "heat")]
    bad, seen, tenth, now = 0, 0, 1, None
    fresh = lambda: [[0, 0.0, 0.0, 0] for _ in of]
    sums = fresh()

    def show():
        parts = [f"{name} {own / n:.3f} (day before {before / n:.3f}), {100 * held / n:.2f} % held"
                 for name, (n, own, before, held) in zip(("load", "heat"), sums)]
        print(f"{tenth * flags.count // 10}: {'; '.join(parts)}", flush=True)

    for cells in said:
        t = round(float(cells[at]) / 3600)
        if cells[at - 2] != now:
            now, seen = cells[at - 2], seen + 1
        if t < HOURS + 6 or t >= HOURS + flags.count:
            continue
        if t >= HOURS + tenth * flags.count // 10:
            show()
            sums, tenth = fresh(), tenth + 1
        for own, column, values in zip(sums, of, (load, heat)):
            value, low, high = map(float, cells[column : column + 3])
            bad += not (math.isfinite(low) and math.isfinite(high))
            truth, before = values[t], values[t - 24]
            if not math.isnan(truth) and not math.isnan(before):
                own[0] += 1
                own[1] += abs(value - truth)
                own[2] += abs(before - truth)
                own[3] += low <= truth <= high
    show()
    return seen, bad


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("what", nargs="?", choices=["labels", "forecast"], default="labels")
    flags.add_argument("--count", type=int, default=10_000_000)
    flags.add_argument("--model", help="another model than the default")
    flags.add_argument("--ncde", default=str(HERE.parent / "target/release/ncde"))
    flags = flags.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seen, bad = {"labels": labels, "forecast": forecast}[flags.what](flags, folder)
    seconds = time.monotonic() - begun
    print(f"{seen} observations predicted from, {bad} numbers not finite, {seen / seconds:.0f} a second")


if __name__ == "__main__":
    main()
