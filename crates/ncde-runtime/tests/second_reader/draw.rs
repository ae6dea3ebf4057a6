//! Random models over all layers and settings, and random series for them.

use serde_json::{Value, json};

use super::dice::Dice;
use super::memories::{gru_d, remembering};
use super::reader::Observation;
use super::states::{driven, linear_cde, neural_cde, permutation_diagonal};

/// The rows that the next layer is given.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) width: usize,
    /// Coordinates and form of windows.
    pub(crate) windows: Option<(usize, Value)>,
    pub(crate) statics: usize,
    pub(crate) pooled: bool,
}

impl Given {
    fn with(&self, width: usize) -> Self {
        Self { width, windows: None, ..self.clone() }
    }
}

/// `model.json`, without the size of its weights.
pub(crate) fn model(dice: &mut Dice) -> Value {
    let tokens = dice.chance(0.15);
    let channels = if tokens { 1 } else { dice.whole(1, 3) };
    let statics = dice.whole(0, 2);
    let (timed, missing) =
        (!tokens && dice.chance(0.7), if tokens { "refuse" } else { dice.one_of(&["refuse", "forward", "counts"]) });
    let scaling = |dice: &mut Dice| json!({"shift": 0.3 * dice.normal(), "factor": 0.3 + 0.5 * dice.uniform()});
    let identity = json!({"shift": 0.0, "factor": 1.0});
    let scalings = |dice: &mut Dice, n: usize| (0..n).map(|_| if tokens { identity.clone() } else { scaling(dice) }).collect();
    let mut missing = json!({"kind": missing});
    if missing["kind"] == "counts" {
        missing["factors"] = (0..channels).map(|_| 0.1 + 0.2 * dice.uniform()).collect();
    }
    let width = usize::from(timed) + channels * if missing["kind"] == "counts" { 2 } else { 1 };
    let preparation = json!({
        "channels": Value::Array(scalings(dice, channels)),
        "statics": Value::Array(scalings(dice, statics)),
        "time": if timed { scaling(dice) } else { Value::Null },
        "missing": missing,
    });
    let at = dice.one_of(&["end", "steps"]);
    let task = match dice.whole(0, 3) {
        0 => json!({"kind": "classification", "classes": Value::from(&["a", "b", "c"][..dice.whole(2, 3)]), "at": at}),
        1 if at == "steps" && !tokens => forecast(dice, channels),
        _ => json!({"kind": "regression", "target": "y", "at": at, "scaling": scaling(dice)}),
    };
    let outputs = match task["kind"].as_str() {
        Some("classification") => task["classes"].as_array().map_or(0, Vec::len),
        Some("forecast") => {
            let last = task["horizon"].as_u64().unwrap();
            task["targets"].as_array().map_or(channels, Vec::len) * (last + 1 - task["from"].as_u64().unwrap_or(last)) as usize
        }
        _ => 1,
    };

    let (mut layers, mut given) = (Vec::new(), Given { width, windows: None, statics, pooled: false });
    if tokens {
        given = given.with(dice.whole(2, 4));
        layers.push(json!({"layer": "embedding", "width": given.width}));
    }
    for stage in 0..dice.whole(1, 4) {
        if stage > 0 {
            // What flows drive must not diverge.
            layers.push(json!({"layer": "activation", "function": "tanh"}));
            given = given.with(given.width);
        }
        sequence(dice, &mut layers, &mut given);
    }
    if dice.chance(0.2) {
        let lists = (0..dice.whole(1, 3)).map(|_| {
            let mut list = if dice.chance(0.5) { inside(dice, &given, 3) } else { Vec::new() };
            let mut given = if list.is_empty() { given.clone() } else { given.with(3) };
            read(dice, &mut list, &mut given, at, outputs);
            list
        });
        let lists: Vec<Vec<Value>> = lists.collect();
        layers.push(json!({"layer": "parallel", "layers": lists}));
    } else {
        read(dice, &mut layers, &mut given, at, outputs);
    }
    let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    let mut model = json!({
        "format": 2, "ncde": "0.1.0", "name": "layers", "weights": {"bytes": 0, "crc32": 0},
        "channels": names("x", channels), "statics": names("s", statics),
        "task": task, "preparation": preparation, "layers": layers,
    });
    if tokens {
        model["vocabulary"] = names("token", dice.whole(2, 5)).into();
    }
    model
}

/// From rows to outputs.
fn read(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given, at: &str, outputs: usize) {
    if at == "end" {
        layers.push(json!({"layer": "pool", "over": dice.one_of(&["last", "mean"])}));
        *given = Given { pooled: true, ..given.with(given.width) };
    }
    for _ in 0..dice.whole(0, 2) {
        plain(dice, layers, given);
    }
    layers.push(json!({"layer": "linear", "outputs": outputs}));
}

/// What is known of a channel some steps ahead.
pub(crate) fn ahead(k: usize, known: usize) -> Option<f64> {
    (!(k + known).is_multiple_of(3)).then_some(0.4 * k as f64 - 0.3 * known as f64)
}

/// A forecast of one horizon or of several, with or without what does not change it.
fn forecast(dice: &mut Dice, channels: usize) -> Value {
    let horizon = dice.whole(1, 4);
    let mut task = json!({"kind": "forecast", "horizon": horizon});
    let mut count = 1;
    let all = channels;
    let targets: Vec<usize> = (0..channels).filter(|_| dice.chance(0.5)).collect();
    let channels = if targets.is_empty() { channels } else { targets.len() };
    if !targets.is_empty() {
        task["targets"] = json!(targets);
    }
    if dice.chance(0.5) {
        let from = dice.whole(1, horizon);
        (task["from"], count) = (from.into(), horizon + 1 - from);
    }
    if dice.chance(0.5) {
        task["relative"] = true.into();
    } else if dice.chance(0.5) {
        task["smoothing"] = smoothing(dice, channels, horizon);
        let known: Vec<usize> = (0..all).filter(|c| !targets.is_empty() && !targets.contains(c)).collect();
        if !known.is_empty() && dice.chance(0.7) {
            let numbers = |dice: &mut Dice| known.iter().map(|_| 0.3 * dice.normal()).collect::<Vec<_>>();
            let effects: Vec<Vec<f64>> = (0..channels).map(|_| numbers(dice)).collect();
            task["known"] = json!({"channels": known, "means": numbers(dice), "effects": effects});
        }
        task["nonnegative"] = (0..channels).map(|_| dice.chance(0.3)).collect();
    }
    if dice.chance(0.5) {
        (task["step"], task["grid"]) = (0.25.into(), dice.chance(0.5).into());
        task["intervals"] = json!({"level": 0.9, "widths": vec![vec![0.5; channels]; count]});
        task["baseline"] = json!({"period": 24, "means": vec![0.1; channels], "scales": vec![0.2; channels]});
    }
    task
}

/// Experts of all kinds, with short seasons, as series are short.
fn smoothing(dice: &mut Dice, channels: usize, horizon: usize) -> Value {
    let mut experts =
        vec![json!({"level": 1.0}), json!({"level": 0.3, "trend": 0.2, "damping": 0.9}), json!({"level": 0.2, "log": true})];
    for seasons in [json!([2]), json!([3]), json!([2, 4])] {
        let share = |dice: &mut Dice| dice.whole(0, 8) as f64 / 10.0;
        let (level, season, error) = (share(dice), share(dice), share(dice));
        experts.push(json!({"level": level, "trend": dice.one_of(&[0.0, 0.1]), "season": season, "error": error, "seasons": seasons, "log": dice.chance(0.3)}));
    }
    let mut lags = vec![1, horizon.div_ceil(2), horizon];
    lags.dedup();
    json!({"lags": lags, "log": vec![true; channels], "experts": experts})
}

/// A layer for rows one after the other, or several.
fn sequence(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    if layers.is_empty() && dice.chance(0.03) {
        let (layer, width) = gru_d(dice, given.width, true);
        layers.push(layer);
        *given = given.with(width);
        return;
    }
    match dice.whole(0, 11) {
        0..=2 => {
            windows(dice, layers, given);
            match dice.whole(0, 3) {
                0 => nested(dice, layers, given),
                1 => beside(dice, layers, given),
                _ => flow(dice, layers, given),
            }
        }
        3 if dice.chance(0.4) => {
            let (layer, width) = permutation_diagonal(dice);
            layers.push(layer);
            *given = given.with(width);
        }
        3 | 4 => {
            let width = states(dice);
            layers.push(driven(dice, given, width));
            *given = given.with(width);
        }
        5 if given.width <= 6 => {
            let depth = dice.whole(1, if given.width <= 3 { 3 } else { 2 });
            layers.push(json!({"layer": "signature", "depth": depth}));
            let words: usize = (1..=depth).map(|n| given.width.pow(n as u32)).sum();
            *given = given.with(given.width + given.statics + words);
            narrow(dice, layers, given);
        }
        6 => nested(dice, layers, given),
        7 => {
            layers.push(json!({"layer": "convolution", "size": dice.whole(1, 4)}));
            *given = given.with(given.width);
        }
        8 if given.width <= 6 && dice.chance(0.3) => {
            let (order, spans) = (dice.whole(1, 12), dice.whole(1, 2));
            let spans: Vec<f64> = (0..spans).map(|_| 0.3 + 2.0 * dice.uniform()).collect();
            let (values, count) = (dice.chance(0.5), spans.len());
            let mut layer = json!({"layer": "memory", "order": order, "spans": spans, "values": values});
            let turns = dice.whole(0, 2);
            if turns > 0 {
                let pairs = (0..turns).map(|_| json!([0.1 + dice.uniform(), 4.0 * dice.uniform() - 2.0])).collect::<Vec<_>>();
                layer["turns"] = pairs.into();
            }
            layers.push(layer);
            let more = if values { given.width + given.statics } else { 0 };
            *given = given.with((order * count + 2 * turns) * given.width + more);
            narrow(dice, layers, given);
        }
        8 if given.width <= 6 => {
            layers.push(reservoir(dice, given.width));
            layers.push(json!({"layer": "standardise"}));
            // How many features there are is not said here.
            layers.push(json!({"layer": "linear", "outputs": 4}));
            *given = given.with(4);
        }
        9 => plain(dice, layers, given),
        10 if dice.chance(0.3) => product(dice, layers, given),
        _ => {
            let (layer, width) = remembering(dice, given.width);
            layers.push(layer);
            *given = given.with(width);
        }
    }
}

/// Responses, memories, moments, areas, windows, or some of them; most series last longer than the horizon.
fn reservoir(dice: &mut Dice, width: usize) -> Value {
    let pools = |dice: &mut Dice| {
        let all = ["share", "mean", "longest", "place", "height", "late", "competing"];
        let from = dice.whole(0, 6);
        (0..dice.whole(0, 5)).map(|i| all[(from + i) % 7]).collect::<Vec<_>>()
    };
    let spans = |dice: &mut Dice, least: usize| (0..dice.whole(least, 2)).map(|_| 0.15 + dice.uniform()).collect::<Vec<f64>>();
    let families: Vec<Value> = (0..dice.whole(0, 2)).map(|_| json!({"groups": dice.whole(0, 3), "pools": pools(dice)})).collect();
    let (memories, moments) = (dice.chance(0.5), dice.chance(0.5));
    // Something must come out.
    let moments = moments || (!memories && dice.chance(0.8));
    // So many linear pools that a readout behind them adds them up.
    let many = dice.chance(0.15);
    let always = if many {
        json!([{"groups": 12, "pools": ["height", "share", "late"]}])
    } else {
        json!([{"groups": 1, "pools": ["share"]}])
    };
    let (least, families) = if many || !(memories || moments) { (1, always) } else { (0, json!(families)) };
    json!({
        "layer": "reservoir", "horizon": 0.6 + 3.0 * dice.uniform(), "tick": if dice.chance(0.5) { json!(0.05 + 0.2 * dice.uniform()) } else { Value::Null },
        "responses": {"order": dice.whole(1, 12), "spans": spans(dice, least), "delay": dice.uniform(), "families": families},
        "summary": {"order": dice.whole(1, 12), "spans": spans(dice, usize::from(memories || moments)), "memories": memories, "moments": moments, "areas": dice.whole(0, width), "windows": dice.one_of(&[0, 5, 32]), "depth": dice.whole(0, 3)},
    })
}

/// Mostly few, sometimes more than fit a register.
fn states(dice: &mut Dice) -> usize {
    if dice.chance(0.08) { dice.one_of(&[8, 15, 16, 20, 24, 32]) } else { dice.whole(2, 6) }
}

/// Few enough numbers for what comes next.
fn narrow(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    let width = dice.whole(2, 5);
    layers.push(json!({"layer": "linear", "outputs": width}));
    *given = given.with(width);
}

/// A layer for single rows.
fn plain(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    let even = given.width.is_multiple_of(2);
    match dice.whole(0, 5) {
        0 | 1 => narrow(dice, layers, given),
        2 => {
            let function = dice
                .one_of(&["silu", "relu", "tanh", "softplus", "shifted-softplus", "identity", "glu"][..if even { 7 } else { 6 }]);
            layers.push(json!({"layer": "activation", "function": function}));
            *given = given.with(if function == "glu" { given.width / 2 } else { given.width });
        }
        3 => {
            // The norm of one number, or of two alike, says nothing but rounding.
            narrow(dice, layers, given);
            layers.push(json!({"layer": "linear", "outputs": 4}));
            layers.push(if dice.chance(0.5) {
                json!({"layer": "layer-norm", "affine": true})
            } else {
                json!({"layer": "layer-norm"})
            });
            *given = given.with(4);
        }
        4 if dice.chance(0.5) => {
            let count = dice.whole(1, 4);
            layers.push(json!({"layer": "random-features", "count": count}));
            *given = given.with(given.width + count);
        }
        4 => {
            layers.push(json!({"layer": "standardise"}));
            *given = given.with(given.width);
        }
        _ => {
            layers.push(json!({"layer": "dropout", "rate": 0.5}));
            *given = given.with(given.width);
        }
    }
}

/// Coordinates of a log-signature.
fn coordinates(d: usize, depth: usize, basis: &str) -> usize {
    let words = |n: u32| d.pow(n);
    let lie = |n: usize| match n {
        1 => d,
        2 => d * (d - 1) / 2,
        3 => (words(3) - d) / 3,
        _ => (words(4) - words(2)) / 4,
    };
    (1..=depth).map(|n| if basis == "expanded" { words(n as u32) } else { lie(n) }).sum()
}

fn windows(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    if given.windows.is_some() || given.width > 7 {
        narrow(dice, layers, given);
    }
    let d = given.width;
    let kind = dice.one_of(&["log-signature", "log-signature", "increments", "hermite"]);
    let window = if kind == "hermite" { 1 } else { dice.whole(1, 5) };
    let mut form = json!({"kind": kind});
    let numbers = match kind {
        "log-signature" => {
            let depth = dice.whole(1, [4, 4, 4, 3, 2, 2, 2, 2][d]);
            let basis = dice.one_of(&["lyndon", "lyndon", "expanded", "hall"]);
            (form["depth"], form["basis"]) = (depth.into(), basis.into());
            coordinates(d, depth, basis)
        }
        "increments" => (1 + window) * d,
        _ => 2 * d,
    };
    layers.push(json!({"layer": "windows", "window": window, "form": form}));
    *given = Given { windows: Some((numbers, form)), ..given.with(numbers + d) };
}

/// A layer that windows drive, where there is one for their form.
fn flow(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    let (form, mut width) = (given.windows.clone().map_or(Value::Null, |(_, form)| form), states(dice));
    let text = |key: &str| form.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let neural = match (text("kind").as_str(), text("basis").as_str()) {
        ("hermite", _) => true,
        ("log-signature", "lyndon") => dice.chance(0.65),
        ("log-signature", "hall") if form["depth"] != 1 => return narrow(dice, layers, given),
        _ => false,
    };
    if neural {
        width = width.min(8);
    }
    layers.push(if neural {
        neural_cde(dice, given, width)
    } else {
        linear_cde(dice, given, width, &json!({"kind": "windows"}))
    });
    *given = given.with(width);
}

/// Layers that hand on rows of `width` numbers, one for each.
fn inside(dice: &mut Dice, given: &Given, width: usize) -> Vec<Value> {
    let (mut layers, mut given) = (Vec::new(), given.clone());
    match &given.windows {
        Some(_) if dice.chance(0.8) => flow(dice, &mut layers, &mut given),
        _ if !given.pooled && dice.chance(0.5) => {
            let (layer, width) = if dice.chance(0.7) { (driven(dice, &given, 3), 3) } else { remembering(dice, given.width) };
            layers.push(layer);
            given = given.with(width);
        }
        _ => plain(dice, &mut layers, &mut given),
    }
    if given.width != width || dice.chance(0.5) {
        layers.push(json!({"layer": "linear", "outputs": width}));
    }
    if dice.chance(0.2) {
        layers.push(json!({"layer": "residual", "layers": [{"layer": "activation", "function": "tanh"}]}));
    }
    layers
}

fn nested(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    layers.push(json!({"layer": "residual", "layers": inside(dice, given, given.width)}));
    *given = given.with(given.width);
}

/// Lists of layers that are multiplied, of which one may be the row itself.
fn product(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    let width = if given.width <= 6 && dice.chance(0.5) { given.width } else { dice.whole(2, 5) };
    let lists = (0..dice.whole(1, 3)).map(|_| {
        let is_row = width == given.width && dice.chance(0.2);
        if is_row { Vec::new() } else { inside(dice, given, width) }
    });
    let lists: Vec<Vec<Value>> = lists.collect();
    layers.push(json!({"layer": "product", "layers": lists}));
    *given = given.with(width);
}

fn beside(dice: &mut Dice, layers: &mut Vec<Value>, given: &mut Given) {
    let (numbers, _) = given.windows.clone().unwrap();
    let (width, seen) = (dice.whole(2, 4), dice.whole(0, numbers));
    let (mut layer, channels) = (json!({"layer": "beside", "coordinates": seen}), given.width - numbers);
    layer["layers"] = inside(dice, given, width).into();
    let mut handed_on = channels;
    if dice.whole(0, 1) == 0 {
        let from = dice.whole(0, channels);
        let to = dice.whole(from, channels);
        layer["knot"] = json!([from, to]);
        handed_on = to - from;
    }
    layers.push(layer);
    *given = given.with(width + seen + handed_on);
}

/// A ragged series at irregular times, with gaps where the model takes them; statics, of which one may be missing.
pub(crate) fn series(dice: &mut Dice, model: &Value) -> (Vec<Option<f64>>, Vec<Observation>) {
    let (channels, gaps) = (model["channels"].as_array().unwrap().len(), model["preparation"]["missing"]["kind"] != "refuse");
    let statics = model["statics"].as_array().unwrap().len();
    let statics = (0..statics).map(|_| if dice.chance(0.2) { None } else { Some(dice.normal()) }).collect();
    let vocabulary = model.get("vocabulary").map(|tokens| tokens.as_array().unwrap().len());
    let mut time = 10.0 * dice.normal();
    let mut row = |dice: &mut Dice| {
        time += 0.05 + dice.uniform();
        let value = |dice: &mut Dice| match vocabulary {
            Some(n) => Some(dice.whole(0, n - 1) as f64),
            None if gaps && dice.chance(0.25) => None,
            None => Some(dice.normal()),
        };
        (time, (0..channels).map(|_| value(dice)).collect())
    };
    (statics, (0..dice.whole(1, 13)).map(|_| row(dice)).collect())
}
