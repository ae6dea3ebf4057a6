//! Networks as vector fields, with brackets by numbers that carry derivatives.
//!
//! A number with `n` derivatives is a list of `2^n`: its first half without the last small quantity `e` (`e^2 = 0`), its second half what multiplies it.

use serde_json::Value;

use super::algebra::Element;

type Number = Vec<f64>;

fn plus(a: &Number, b: &Number) -> Number {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn scaled(a: &Number, factor: f64) -> Number {
    a.iter().map(|a| factor * a).collect()
}

fn times(a: &Number, b: &Number) -> Number {
    if let ([a], [b]) = (&a[..], &b[..]) {
        return vec![a * b];
    }
    let ((a, da), (b, db)) = (halves(a), halves(b));
    [times(&a, &b), plus(&times(&a, &db), &times(&da, &b))].concat()
}

fn halves(a: &Number) -> (Number, Number) {
    let (value, derivative) = a.split_at(a.len() / 2);
    (value.to_vec(), derivative.to_vec())
}

/// `f(a + e da) = f(a) + e f'(a) da`.
fn function(a: &Number, value: &dyn Fn(f64) -> f64, slope: &dyn Fn(&Number) -> Number) -> Number {
    if let [a] = a[..] {
        return vec![value(a)];
    }
    let (a, da) = halves(a);
    [function(&a, value, slope), times(&slope(&a), &da)].concat()
}

fn constant(value: f64, like: &Number) -> Number {
    let mut number = vec![0.0; like.len()];
    number[0] = value;
    number
}

fn tanh(x: &Number) -> Number {
    function(x, &f64::tanh, &|x| {
        let t = tanh(x);
        plus(&constant(1.0, x), &scaled(&times(&t, &t), -1.0))
    })
}

fn sigmoid(x: &Number) -> Number {
    function(x, &|x| 1.0 / (1.0 + (-x).exp()), &|x| {
        let s = sigmoid(x);
        plus(&s, &scaled(&times(&s, &s), -1.0))
    })
}

fn activation(name: &str, x: &Number) -> Number {
    match name {
        "silu" => times(x, &sigmoid(x)),
        "relu" => function(x, &|x| x.max(0.0), &|x| constant(f64::from(u8::from(x[0] > 0.0)), x)),
        "tanh" => tanh(x),
        "softplus" => function(x, &|x| x.max(0.0) + (1.0 + (-x.abs()).exp()).ln(), &sigmoid),
        "shifted-softplus" => plus(&activation("softplus", x), &constant(-(2.0_f64.ln()), x)),
        "linear" | "identity" => x.clone(),
        other => panic!("no activation {other}"),
    }
}

/// The function of an `activation` layer, number by number.
pub(crate) fn plain(name: &str, x: f64) -> f64 {
    activation(name, &vec![x])[0]
}

/// The network of a `neural-cde`.
pub(crate) struct Field<'a> {
    pub(crate) hidden: usize,
    pub(crate) columns: usize,
    pub(crate) spec: &'a Value,
    pub(crate) parameters: &'a [f64],
}

impl Field<'_> {
    /// All columns at `h`.
    fn columns(&self, h: &[Number]) -> Vec<Vec<Number>> {
        let text = |key: &str| self.spec[key].as_str().unwrap();
        let (width, layers) = (self.spec["width"].as_u64().unwrap() as usize, self.spec["layers"].as_u64().unwrap() as usize);
        let (mut x, mut place) = (h.to_vec(), 0);
        for l in 0..=layers {
            let outputs = if l == layers { self.hidden * self.columns } else { width };
            let name = match layers - l {
                0 => text("last"),
                1 => text("before_last"),
                _ => text("activation"),
            };
            let (weight, bias) = (place, place + x.len() * outputs);
            let output = |j: usize| {
                let start = constant(self.parameters[bias + j], &h[0]);
                let sum = |y, (i, x)| plus(&y, &scaled(x, self.parameters[weight + i * outputs + j]));
                activation(name, &x.iter().enumerate().fold(start, sum))
            };
            let y = (0..outputs).map(output).collect();
            (x, place) = (y, bias + outputs);
        }
        assert_eq!(place, self.parameters.len());
        x.chunks(self.hidden).map(<[Number]>::to_vec).collect()
    }

    /// The field of an element: `[f, g] = Dg f - Df g`.
    fn element(&self, elements: &[Element], at: usize, h: &[Number]) -> Vec<Number> {
        match elements[at] {
            Element::Letter(i) => self.columns(h).swap_remove(i),
            Element::Bracket(p, q) => {
                let along = |field: usize, direction: usize| -> Vec<Number> {
                    let v = self.element(elements, direction, h);
                    let moved: Vec<Number> = h.iter().zip(&v).map(|(h, v)| [h.clone(), v.clone()].concat()).collect();
                    self.element(elements, field, &moved).iter().map(|y| halves(y).1).collect()
                };
                along(q, p).iter().zip(&along(p, q)).map(|(a, b)| plus(a, &scaled(b, -1.0))).collect()
            }
        }
    }

    /// `sum_P c_P f_P(h)`.
    pub(crate) fn rate(&self, elements: &[Element], c: &[f64], h: &[f64]) -> Vec<f64> {
        let h: Vec<Number> = h.iter().map(|&h| vec![h]).collect();
        let mut sum = vec![0.0; self.hidden];
        for (at, c) in c.iter().enumerate() {
            let f = self.element(elements, at, &h);
            sum.iter_mut().zip(f).for_each(|(sum, f)| *sum += c * f[0]);
        }
        sum
    }
}

/// `steps` equal steps from `u = 0` to 1.
pub(crate) fn solve(solver: &str, steps: usize, h: &[f64], rate: &dyn Fn(f64, &[f64]) -> Vec<f64>) -> Vec<f64> {
    let third = 1.0 / 3.0;
    let (a, b): (Vec<Vec<f64>>, Vec<f64>) = match solver {
        "midpoint" => (vec![vec![], vec![0.5]], vec![0.0, 1.0]),
        "ralston" => (vec![vec![], vec![2.0 * third]], vec![0.25, 0.75]),
        "bogacki-shampine" => (vec![vec![], vec![0.5], vec![0.0, 0.75]], vec![2.0 / 9.0, third, 4.0 / 9.0]),
        "dormand-prince" => (
            vec![
                vec![],
                vec![1.0 / 5.0],
                vec![3.0 / 40.0, 9.0 / 40.0],
                vec![44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
                vec![19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
                vec![9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
            ],
            vec![35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
        ),
        "tsitouras" => (
            vec![
                vec![],
                vec![0.161],
                vec![-0.008480655492356989, 0.335480655492357],
                vec![2.8971530571054935, -6.359448489975075, 4.3622954328695815],
                vec![5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
                vec![5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
            ],
            vec![0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
        ),
        "euler" => (vec![vec![]], vec![1.0]),
        "heun" => (vec![vec![], vec![1.0]], vec![0.5, 0.5]),
        "rk4" => (vec![vec![], vec![0.5], vec![0.0, 0.5], vec![0.0, 0.0, 1.0]], vec![third / 2.0, third, third, third / 2.0]),
        other => panic!("no solver {other}"),
    };
    let (mut h, du) = (h.to_vec(), 1.0 / steps as f64);
    for step in 0..steps {
        let mut k: Vec<Vec<f64>> = Vec::new();
        for row in &a {
            let u = (step as f64 + row.iter().sum::<f64>()) * du;
            let y: Vec<f64> = (0..h.len()).map(|i| h[i] + du * row.iter().zip(&k).map(|(a, k)| a * k[i]).sum::<f64>()).collect();
            k.push(rate(u, &y));
        }
        for i in 0..h.len() {
            h[i] += du * b.iter().zip(&k).map(|(b, k)| b * k[i]).sum::<f64>();
        }
    }
    h
}
