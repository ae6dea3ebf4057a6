"""Writes ``src/ncde/_parameters.py``: the keywords of the estimators, from the keys of the configuration that the extension module tells.

Run it after a key was added: ``python python/tools/parameters.py``. A test says when the file is not what this would write.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

from ncde import _ncde

FILE = Path(__file__).parent.parent / "src" / "ncde" / "_parameters.py"

#: Keys that are arguments of ``fit``, or of files alone.
LEFT_OUT = {"train", "test", "labels", "test_labels", "parts", "task", "seed", "name"}
#: Keys of ``[data]`` that are of forecasts alone.
OF_FORECASTS = {"horizon", "first_horizon", "target", "known", "relative", "smoothing", "grid", "stretch"}
#: Keys that are of classes alone.
OF_CLASSES = {"class_weights", "threshold", "positive", "miss_cost", "stratified"}

TYPES = {"usize": "int", "u64": "int", "f64": "float", "bool": "bool", "String": "str", "Vec<String>": "list[str]", "Vec<usize>": "list[int]"}

OWN_FIRST = [
    ("model", "str", "Which model; see the table of models. By default `reservoir` for numbers, or `slice` if a setting of training is given."),
]
OWN = [
    ("id_column", "str", "Of a long table, the column with the name of a case; by default one that is called `id`, `case` or `series`."),
    ("time_column", "str", "Of a long table, the column with times; by default one that is called `time`, `t` or `date`. Without one, rows are counted."),
    ("group_column", "str", "Of a long table, the column that says which cases belong together."),
    ("static_columns", "list[str]", "Of a long table, columns that say one number of each case as a whole."),
    ("channel_columns", "list[str]", "Of a long table, the columns that are channels; by default all others."),
]
OWN_LAST = [
    ("random_state", "Any", "The seed of everything random: a whole number, or a generator of numpy from which one is drawn. 0 by default: results repeat."),
    ("n_jobs", "int", "How many threads compute; all by default. Results do not depend on it."),
]


def kind_of(table: str, name: str, rust: str) -> str:
    """The type in Python of a key's values."""
    if name == "layers":
        return "list[dict[str, Any]]"
    if rust in TYPES:
        return TYPES[rust]
    # One of some names, which the error of a wrong one tells.
    try:
        _ncde.check_key(f"{table}.{name}", json.dumps("no-such-name"))
    except ValueError as error:
        names = re.findall("`([^`]+)`", str(error).split("expected", 1)[-1]) if "expected" in str(error) else []
        if names:
            return f"Literal[{', '.join(json.dumps(one) for one in names)}]"
    return "float | str" if rust == "ThresholdBy" else "str"


def keys() -> list[tuple[str, str, str, str]]:
    """Keyword, full key, type, and meaning."""
    columns = {"id_column", "time_column", "label_column", "group_column", "ignore", "channels", "sort", "duplicates", "time_format", "decimal", "tokens"}
    columns |= {"unknown", "missing_cells", "shape", "time_zone", "channels_first", "statics"}
    found = []
    for table, name, meaning, rust, models in _ncde.config_keys():
        if name in LEFT_OUT or (table == "data" and name in columns):
            continue
        of = f" Of {', '.join(models)}." if models and len(models) <= 6 else ""
        found.append((name, f"{table}.{name}", kind_of(table, name, rust), plain(meaning) + of))
    names = [name for name, *_ in found]
    assert len(names) == len(set(names)), "two tables have a key of the same name"
    return found


def plain(meaning: str) -> str:
    """A meaning without the words of the command line."""
    told = re.sub(r"\s+", " ", meaning).replace("`[[model.layers]]`", "a dictionary")
    return told.replace("test on, if chance decides.", "test on, if chance decides; 0 by default here.")


def of_class(name: str, left_out: set[str], note: str) -> str:
    chosen = [key for key in keys() if key[0] not in left_out]
    parameters = [(key, kind, meaning) for key, kind, meaning in OWN_FIRST]
    parameters += [(key, kind, meaning) for key, _, kind, meaning in chosen]
    parameters += [*OWN, *OWN_LAST]
    documentation = ["", "    Parameters", "    ----------"]
    for key, kind, meaning in [*parameters, ("verbose", "int", "Whether what happens is printed on standard error, a line each.")]:
        documentation.append(f"    {key} : {kind.replace('Any', 'object')}, optional")
        documentation += textwrap.wrap(meaning, 130, initial_indent="        ", subsequent_indent="        ", break_long_words=False, break_on_hyphens=False)
    table = [f"    {model}: {about}" for model, about in _ncde.models()]
    documentation += ["", "    Notes", "    -----", "    Models:", "", *table, ""]
    lines = [f"class {name}:", f'    """{note}"""', "", '    _parameters = r"""' + "\n".join(documentation) + '"""', ""]
    lines += ["    def __init__(", "        self,", "        *,"]
    lines += [f"        {key}: {kind if kind == 'Any' else kind + ' | None'} = None," for key, kind, _ in parameters]
    lines += ["        verbose: int = 0,", "    ) -> None:"]
    lines += [f"        self.{key} = {key}" for key, *_ in parameters]
    lines += ["        self.verbose = verbose", "        super().__init__()", ""]
    lines += [""]
    return "\n".join(lines)


def text() -> str:
    head = '''"""The keywords of the estimators. Written by ``python/tools/parameters.py``: change the configuration in Rust, and run that."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal

'''
    table = "#: The key of the configuration that each keyword sets.\nKEYS: dict[str, str] = {\n    \"model\": \"model.name\",\n"
    table += "".join(f'    "{name}": "{key}",\n' for name, key, *_ in keys()) + "}\n\n\n"
    classes = [
        ("ClassifierParameters", OF_FORECASTS, "Keywords of a classifier."),
        ("RegressorParameters", OF_FORECASTS | OF_CLASSES, "Keywords of a regressor."),
        ("ForecasterParameters", OF_CLASSES, "Keywords of a forecaster."),
    ]
    return (head + table + "".join(of_class(*one) for one in classes)).rstrip() + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
