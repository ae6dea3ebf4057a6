"""The files of this folder, as other programs write them: `pip install pyarrow==26.0.1`, then `python make.py`."""
import datetime, math, pyarrow, pyarrow.csv, pyarrow.feather, pyarrow.parquet

rows = []
for series in range(24):
    for k in range(6 + series % 3):
        at = datetime.datetime(2021, 3, 4, 6, 30) + datetime.timedelta(minutes=60 * k + 15 * ((k + series) % 3))
        x = round(20 + (k if series % 2 == 0 else -k) + math.sin(7 * series + 3 * k), 3)
        y = None if (series + k) % 5 == 0 else round(100 + 10 * math.cos(series + k), 3)
        rows.append((f"p{series + 1:02}", at, "fm"[series % 3 // 2], x, y, k % 4 == 1, ["up", "down"][series % 2]))
names = ["patient_id", "timestamp", "sex", "x", "y", "alarm", "label"]
table = pyarrow.table([list(column) for column in zip(*rows)], names=names)
seconds = table.column("timestamp").cast(pyarrow.timestamp("s"))
table = table.set_column(1, "timestamp", seconds)
pyarrow.csv.write_csv(table, "stays.csv", pyarrow.csv.WriteOptions(quoting_style="needed"))
table = table.set_column(2, "sex", table.column("sex").dictionary_encode())
pyarrow.parquet.write_table(table, "stays.parquet", row_group_size=100)
pyarrow.feather.write_feather(table, "stays.feather")
