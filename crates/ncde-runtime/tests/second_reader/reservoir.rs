//! The layers `reservoir` and `memory`: every number anew from the first row, flows by Taylor series.

use serde_json::Value;

use super::reader::{Own, Rows, count, number, text};

/// The memory of a signal after each row.
fn memories(q: usize, span: f64, gaps: &[f64], signal: &[f64]) -> Vec<Vec<f64>> {
    let sign = |n: usize| if n.is_multiple_of(2) { 1.0 } else { -1.0 };
    let a = |i: usize, j: usize| (2 * i + 1) as f64 * if i < j { -1.0 } else { -sign(i - j) };
    let b = |i: usize| (2 * i + 1) as f64 * sign(i);
    let mut m = vec![0.0; q];
    m[0] = signal[0];
    let mut all = vec![m.clone()];
    for k in 1..signal.len() {
        let bits = (gaps[k] / span).to_bits() + (1 << 31);
        let g = f64::from_bits(bits - bits % (1 << 32));
        // The Taylor series of (m, u) over short pieces, in which u is linear.
        let pieces = 1 + (g * (q * q) as f64) as usize;
        let slope = (signal[k] - signal[k - 1]) / pieces as f64;
        for piece in 0..pieces {
            let mut terms = (m.clone(), signal[k - 1] + slope * piece as f64, slope);
            for n in 1..25 {
                let (own, u, slope) = &terms;
                let next = |i: usize| {
                    let sum: f64 = (0..q).map(|j| a(i, j) * own[j]).sum();
                    (sum + b(i) * u) * g / pieces as f64 / f64::from(n)
                };
                terms = ((0..q).map(next).collect(), slope / f64::from(n), 0.0);
                m.iter_mut().zip(&terms.0).for_each(|(m, term)| *m += term);
            }
        }
        all.push(m.clone());
    }
    all
}

/// What rows weigh.
struct Clock {
    w: Vec<f64>,
    rho: Vec<f64>,
    /// The weight of all rows, up to each.
    total: Vec<f64>,
}

fn clock(gaps: &[f64], since: &[f64], delay: f64) -> Clock {
    let mut clock = Clock { w: Vec::new(), rho: Vec::new(), total: Vec::new() };
    let mut total = 0.0;
    for (gap, since) in gaps.iter().zip(since) {
        let w = gap.min((since - delay).max(0.0)).min(1.0);
        let fades = total + w >= 1.0 && total > 0.0;
        clock.rho.push(if fades { (1.0 - w) / total } else { 1.0 });
        total = if fades { 1.0 } else { total + w };
        clock.w.push(w);
        clock.total.push(total);
    }
    clock
}

fn over(x: f64, y: f64) -> f64 {
    if y > 0.0 { x / y } else { 0.0 }
}

/// A way of pooling a response, after each row.
fn pooled(pool: &str, r: &[f64], cut: f64, Clock { w, rho, total }: &Clock) -> Vec<f64> {
    let [mut share, mut sum, mut run, mut longest, mut age] = [0.0_f64; 5];
    let row = |k: usize| {
        let above = r[k] > cut;
        let own = if above { w[k] } else { 0.0 };
        age = rho[k] * (age + w[k] * share);
        share = rho[k] * share + own;
        sum = rho[k] * sum + own * (r[k] - cut);
        run = if above { rho[k] * run + w[k] } else { 0.0 };
        longest = (rho[k] * longest).max(run);
        match pool {
            "share" => over(share, total[k]),
            "mean" => over(sum, share),
            "longest" => over(longest, total[k]).min(1.0),
            "height" => over(sum, total[k]),
            "late" => over(share - over(age, total[k]), total[k]),
            "place" if share > 0.0 => (1.0 - over(age / share, total[k])).max(0.0),
            "place" => 0.0,
            other => panic!("no pool {other}"),
        }
    };
    (0..r.len()).map(row).collect()
}

/// How long each response of a group is the largest and the smallest, and how high and low then, after each row: 64 columns.
fn competing(r: &[Vec<f64>], floor: f64, Clock { w, rho, total }: &Clock) -> Vec<Vec<f64>> {
    let mut columns = vec![Vec::new(); 64];
    let mut sums = [0.0; 64];
    for k in 0..w.len() {
        sums.iter_mut().for_each(|sum| *sum *= rho[k]);
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let best = (0..16).map(|l| sign * r[l][k]).fold(f64::NEG_INFINITY, f64::max);
            if best > floor {
                let lane = (0..16).find(|&l| sign * r[l][k] >= best - floor).unwrap();
                sums[16 * side + lane] += w[k];
                sums[16 * (side + 2) + lane] += w[k] * sign * r[lane][k];
            }
        }
        columns.iter_mut().zip(sums).for_each(|(column, sum)| column.push(over(sum, total[k])));
    }
    columns
}

/// Memories about the present value.
pub(crate) fn memory(spec: &Value, rows: &Rows) -> Vec<Vec<f64>> {
    let (n, c, q) = (rows.values.len(), rows.values[0].len(), count(&spec["order"]));
    let gaps: Vec<f64> = (0..n).map(|k| if k == 0 { 0.0 } else { rows.times[k] - rows.times[k - 1] }).collect();
    let mut all = vec![Vec::new(); n];
    for span in spec["spans"].as_array().unwrap() {
        let channel = |i: usize| rows.values.iter().map(|x| x[i]).collect::<Vec<f64>>();
        let remembered: Vec<_> = (0..c).map(|i| memories(q, number(span), &gaps, &channel(i))).collect();
        for (k, row) in all.iter_mut().enumerate() {
            for j in 0..q {
                row.extend((0..c).map(|i| remembered[i][k][j] - if j == 0 { rows.values[k][i] } else { 0.0 }));
            }
        }
    }
    for turn in spec["turns"].as_array().into_iter().flatten() {
        let [a, w] = [number(&turn[0]), number(&turn[1])];
        // In short steps, by the middle of each.
        let mut r = vec![[0.0_f64; 2]; c];
        for k in 0..n {
            for (i, r) in r.iter_mut().enumerate().filter(|_| k > 0) {
                let pieces = 20_000;
                let h = gaps[k] / f64::from(pieces);
                let slope = (rows.values[k][i] - rows.values[k - 1][i]) / gaps[k];
                for _ in 0..pieces {
                    let rate = |[x, y]: [f64; 2]| [slope - a * x - w * y, w * x - a * y];
                    let first = rate(*r);
                    let middle = rate([r[0] + 0.5 * h * first[0], r[1] + 0.5 * h * first[1]]);
                    *r = [r[0] + h * middle[0], r[1] + h * middle[1]];
                }
            }
            for part in 0..2 {
                all[k].extend(r.iter().map(|r| r[part]));
            }
        }
    }
    if spec["values"] == true {
        all.iter_mut().zip(&rows.values).for_each(|(row, x)| row.extend(x.iter().chain(&rows.statics)));
    }
    all
}

/// The features after each row; those of rows of the clock in between are left out at the end.
pub(crate) fn reservoir(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let mut all = Rows { times: Vec::new(), values: Vec::new(), ..rows.clone() };
    let mut places = Vec::new();
    for (k, (&time, values)) in rows.times.iter().zip(&rows.values).enumerate() {
        if let (Some(tick), Some(before)) = (spec["tick"].as_f64(), k.checked_sub(1)) {
            let (from, last) = (rows.times[before], &rows.values[before]);
            let count = ((time - from) / number(&spec["horizon"]) / tick - 0.25).ceil().min(32.0) - 1.0;
            for j in 1..=count.max(0.0) as usize {
                let share = j as f64 / (count + 1.0);
                all.times.push(from + share * (time - from));
                all.values.push(last.iter().zip(values).map(|(a, b)| a + share * (b - a)).collect());
            }
        }
        places.push(all.times.len());
        all.times.push(time);
        all.values.push(values.clone());
    }
    let features = features(spec, own, &all);
    places.into_iter().map(|k| features[k].clone()).collect()
}

fn features(spec: &Value, own: &Own<'_>, rows: &Rows) -> Vec<Vec<f64>> {
    let (n, c, horizon) = (rows.values.len(), rows.values[0].len(), number(&spec["horizon"]));
    let since: Vec<f64> = rows.times.iter().map(|t| t / horizon).collect();
    let gaps: Vec<f64> = (0..n).map(|k| if k == 0 { 0.0 } else { (rows.times[k] - rows.times[k - 1]) / horizon }).collect();
    let numbers = |list: &Value| list.as_array().unwrap().iter().map(number).collect::<Vec<f64>>();
    let mut columns = responses(&spec["responses"], own, rows, &gaps, &since);

    let summary = &spec["summary"];
    let (q, spans, clock) = (count(&summary["order"]), numbers(&summary["spans"]), clock(&gaps, &since, 0.0));
    let channel = |i: usize| rows.values.iter().map(|x| x[i]).collect::<Vec<f64>>();
    let remembered = |span: f64| (0..c).map(|i| memories(q, span, &gaps, &channel(i))).collect::<Vec<_>>();
    let entry = |all: &[Vec<Vec<f64>>], i: usize, j: usize| all[i].iter().map(|m| m[j]).collect::<Vec<f64>>();
    if summary["memories"] == true {
        for &span in &spans {
            let all = remembered(span);
            (0..q).for_each(|j| columns.extend((0..c).map(|i| entry(&all, i, j))));
        }
        columns.extend((0..c).map(channel));
    }
    // The mean up to row k, with what is left there of the weights of rows.
    let mean = |x: &dyn Fn(usize) -> f64, k: usize| {
        let left = |j: usize| clock.w[j] * clock.rho[j + 1..=k].iter().product::<f64>();
        if clock.total[k] > 0.0 { (0..=k).map(|j| left(j) * x(j)).sum::<f64>() / clock.total[k] } else { x(k) }
    };
    if summary["moments"] == true {
        let all = remembered(spans[spans.len() - 1]);
        for j in 0..q {
            columns.extend((0..c).map(|i| (0..n).map(|k| mean(&|row| all[i][row][j], k)).collect()));
        }
        for i in 0..c {
            let x = channel(i);
            let middle: Vec<f64> = (0..n).map(|k| mean(&|row| x[row], k)).collect();
            columns.push(middle.clone());
            columns.push((0..n).map(|k| mean(&|row| (x[row] - middle[k]).powi(2), k).sqrt()).collect());
            let mut variation = 0.0;
            let varied = |k: usize| {
                variation = clock.rho[k] * variation + if k > 0 { (x[k] - x[k - 1]).abs() } else { 0.0 };
                over(variation, clock.total[k])
            };
            columns.push((0..n).map(varied).collect());
            for side in [1.0, -1.0] {
                let mut extreme = side * x[0];
                let moved = |k: usize| {
                    if clock.rho[k] < 1.0 {
                        extreme = side * middle[k] + clock.rho[k] * (extreme - side * middle[k]);
                    }
                    extreme = extreme.max(side * x[k]);
                    side * extreme
                };
                columns.push((0..n).map(moved).collect());
            }
        }
        columns.push(since.iter().map(|since| since.min(1.0)).collect());
    }
    let areas = summary["areas"].as_u64().unwrap_or(0) as usize;
    for i in 0..areas {
        let x = channel(i);
        columns.push((0..n).map(|k| x[k] - x[0]).collect());
    }
    for i in 0..areas {
        for j in i + 1..areas {
            let (x, y) = (channel(i), channel(j));
            let mut area = 0.0;
            let swept = |k: usize| {
                let before = k.saturating_sub(1);
                let turn = (x[before] - x[0]) * (y[k] - y[before]) - (y[before] - y[0]) * (x[k] - x[before]);
                area = clock.rho[k] * area + turn / 2.0;
                area
            };
            columns.push((0..n).map(swept).collect());
        }
    }
    let windows = summary["windows"].as_u64().unwrap_or(0) as usize;
    for i in (0..c).filter(|_| windows > 0) {
        let x = channel(i);
        // Where the path is at a time, seen up to row k.
        let at = |t: f64, k: usize| {
            let before = since[..=k].iter().rposition(|&own| own <= t).unwrap();
            let share = if before == k { 0.0 } else { (t - since[before]) / (since[before + 1] - since[before]) };
            x[before] + if before == k { 0.0 } else { share * (x[before + 1] - x[before]) }
        };
        let mut level = windows;
        loop {
            let edge = |w: usize| w as f64 / level as f64;
            columns.extend((0..level).map(|w| (0..n).map(|k| at(edge(w + 1), k) - at(edge(w), k)).collect()));
            if level % 2 == 1 || level / 2 < 16 {
                break;
            }
            level /= 2;
        }
    }
    let depth = summary["depth"].as_u64().unwrap_or(0) as usize;
    let mut words: Vec<Vec<usize>> = vec![vec![]];
    for length in 0..depth {
        let longer = words
            .iter()
            .filter(|word| word.len() == length)
            .flat_map(|word| (0..c).map(|letter| word.iter().copied().chain([letter]).collect()));
        words.extend(longer.collect::<Vec<Vec<usize>>>());
    }
    let place = |word: &[usize]| words.iter().position(|other| other == word).unwrap();
    let mut values = vec![vec![0.0; n]; words.len()];
    values[0].fill(1.0);
    for k in 1..n {
        for word in &words[1..] {
            let before = |j: usize| values[place(&word[..j])][k - 1] * clock.rho[k].powi(j as i32);
            let added = |j: usize| -> f64 {
                let product: f64 = word[j..].iter().map(|&i| rows.values[k][i] - rows.values[k - 1][i]).product();
                product / (1..=word.len() - j).product::<usize>() as f64
            };
            values[place(word)][k] = (0..=word.len()).map(|j| before(j) * added(j)).sum();
        }
    }
    columns.extend(values.into_iter().skip(1));
    columns.extend(rows.statics.iter().map(|&x| vec![x; n]));
    (0..n).map(|k| columns.iter().map(|column| column[k]).collect()).collect()
}

fn responses(spec: &Value, own: &Own<'_>, rows: &Rows, gaps: &[f64], since: &[f64]) -> Vec<Vec<f64>> {
    let (q, families) = (count(&spec["order"]), spec["families"].as_array().unwrap());
    let (c, groups) = (rows.values[0].len(), families.iter().map(|family| count(&family["groups"])).sum::<usize>());
    let (mix, taps, cuts) = (own.get("mix"), own.get("taps"), own.get("cuts"));
    let spans: Vec<f64> = spec["spans"].as_array().unwrap().iter().map(number).collect();
    // The 16 responses of a group of a span, row by row.
    let group = |s: usize, g: usize| -> Vec<Vec<f64>> {
        let mixed = |x: &Vec<f64>| (0..c).map(|i| mix[(s * c + i) * groups + g] * x[i]).sum();
        let signal: Vec<f64> = rows.values.iter().map(mixed).collect();
        let memories = memories(q, spans[s], gaps, &signal);
        let lane = |lane: usize| {
            let tap = |i: usize| taps[((s * groups + g) * (q + 1) + i) * 16 + lane];
            let respond = |(m, u): (&Vec<f64>, &f64)| (0..q).map(|i| tap(i) * m[i]).sum::<f64>() + tap(q) * u;
            memories.iter().zip(&signal).map(respond).collect()
        };
        (0..16).map(lane).collect()
    };
    let all: Vec<Vec<Vec<Vec<f64>>>> = (0..spans.len()).map(|s| (0..groups).map(|g| group(s, g)).collect()).collect();
    let mut columns = Vec::new();
    let mut first = 0;
    for family in families {
        for pool in family["pools"].as_array().unwrap() {
            for (s, span) in spans.iter().enumerate() {
                for g in 0..count(&family["groups"]) {
                    let clock = clock(gaps, since, if g % 2 == 0 { 0.0 } else { span.min(number(&spec["delay"])) });
                    let own = &cuts[(s * groups + first + g) * 64..][..64];
                    if pool == "competing" {
                        let floor = own.iter().fold(0.0, |most: f64, cut| most.max(cut.abs())) / 1024.0;
                        columns.extend(competing(&all[s][first + g], floor, &clock));
                        continue;
                    }
                    for (place, &cut) in own.iter().enumerate() {
                        columns.push(pooled(text(pool), &all[s][first + g][place % 16], cut, &clock));
                    }
                }
            }
        }
        first += count(&family["groups"]);
    }
    columns
}
