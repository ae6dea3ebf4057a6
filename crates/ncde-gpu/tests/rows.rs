//! Products of matrices and what layers do to rows, against the formulas in `f64`.
#![allow(clippy::unwrap_used, reason = "a test")]

use cubecl::prelude::Runtime;
use cubecl::server::Handle;
use ncde_gpu::{Activation, AdamConstants, Gpu, Matrix, Rounding, RowsOf};
use ncde_kernels::{Bracket, Brackets, Commutators, Field, Structure};

use crate::device::{EVERY, gpu, some};
use ncde_reference::{assert_close, narrow, uniform, wide};

/// Numbers that `f32` holds.
fn numbers(seed: u64, n: usize) -> Vec<f64> {
    wide(&narrow::<f32>(&uniform(seed, n)))
}

fn put(numbers: &[f64]) -> Handle {
    gpu().put(&narrow::<f32>(numbers))
}

fn get(handle: &Handle, count: usize) -> Vec<f64> {
    wide(&gpu().get(handle).unwrap()[..count])
}

#[test]
fn products_of_matrices_in_all_directions() {
    products(gpu, 1e-5);
}

/// The same on tensor cores, to the digits that are left; devices without them say so.
#[test]
fn products_of_rounded_numbers() {
    for (rounding, tolerance) in [(Rounding::Tf32, 2e-3), (Rounding::Bf16, 2e-2)] {
        match gpu().with_rounding(rounding) {
            Ok(rounded) => {
                let error = rounded.error_of_products().unwrap();
                assert!(error > tolerance / 100.0 && error < tolerance, "{}: {error}", rounding.name());
                products(|| gpu().with_rounding(rounding).unwrap(), tolerance);
            }
            Err(error) => assert!(error.to_string().contains(rounding.name()), "{error}"),
        }
    }
    assert!(gpu().error_of_products().unwrap() < 1e-6);
}

fn products<R: Runtime>(gpu: impl Fn() -> Gpu<R>, tolerance: f64) {
    let shapes =
        [(3, 5, 7), (65, 130, 33), (17, 3, 1000), (128, 300, 20), (1, 1, 1), (200, 9, 129), (256, 256, 40), (64, 64, 16)];
    for (i, &(m, n, k)) in some(&shapes, 5).iter().enumerate() {
        let (a, b, bias) = (numbers(i as u64, m * k), numbers(50 + i as u64, k * n), numbers(99, n));
        let product = |with: bool| -> Vec<f64> {
            let entry = |e: usize| (0..k).map(|l| a[e / n * k + l] * b[l * n + e % n]).sum::<f64>();
            (0..m * n).map(|e| entry(e) + if with { bias[e % n] } else { 0.0 }).collect()
        };
        let turned = |x: &[f64], rows: usize, columns: usize| -> Vec<f64> {
            (0..rows * columns).map(|e| x[e % rows * columns + e / rows]).collect()
        };
        let sums: Vec<f64> = (0..n).map(|j| (0..k).map(|l| b[l * n + j]).sum()).collect();
        let (left, right) = (put(&a), put(&b));
        let (left_turned, right_turned) = (put(&turned(&a, m, k)), put(&turned(&b, k, n)));
        let lefts = [Matrix::new(&left, m, k), Matrix::new(&left_turned, k, m).transposed()];
        let rights = [Matrix::new(&right, k, n), Matrix::new(&right_turned, n, k).transposed()];
        for (turn, (a, b)) in lefts.into_iter().flat_map(|a| rights.map(|b| (a, b))).enumerate() {
            // In software one kind of product for each direction, another one for the next shape: each is a kernel of its own.
            let is = |kind: usize| EVERY || (turn + i) % 3 == kind;
            for with in [false, true].into_iter().filter(|&with| is(usize::from(with))) {
                let out = gpu().product(a, b, with.then(|| put(&bias)).as_ref()).unwrap();
                assert_close(&format!("{m} x {k} x {n}"), &get(&out, m * n), &product(with), tolerance);
            }
            if is(2) {
                let [out, seen] = gpu().product_and_sums(a, b).unwrap();
                assert_close("with sums", &get(&out, m * n), &product(false), tolerance);
                assert_close("sums", &get(&seen, n), &sums, tolerance);
            }
        }
        assert!(gpu().product(lefts[0], Matrix::new(&right, k + 1, n), None).is_err());
    }
}

type Function = Box<dyn Fn(f64) -> f64>;

/// The formulas, and their slopes by differences.
#[test]
fn activations_and_their_slopes() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let functions: [(Activation, Function); 6] = [
        (Activation::Silu, Box::new(move |x| x * sigmoid(x))),
        (Activation::Relu, Box::new(|x: f64| x.max(0.0))),
        (Activation::Tanh, Box::new(f64::tanh)),
        (Activation::Softplus, Box::new(|x: f64| x.exp().ln_1p())),
        (Activation::ShiftedSoftplus, Box::new(|x: f64| x.exp().ln_1p() - 2_f64.ln())),
        (Activation::Identity, Box::new(|x| x)),
    ];
    let x: Vec<f64> = numbers(1, 77).iter().map(|x| 12.0 * x).collect();
    let (x, dy) = (wide(&narrow::<f32>(&x)), numbers(2, 77));
    let handle = put(&x);
    let rows = RowsOf { numbers: &handle, rows: 7, width: 11 };
    for (function, f) in functions {
        let (y, width) = gpu().activation(function, rows).unwrap();
        assert_eq!(width, 11);
        assert_close("value", &get(&y, 77), &x.iter().map(|&x| f(x)).collect::<Vec<_>>(), 1e-5);
        let dx = gpu().activation_backward(function, rows, &put(&dy)).unwrap();
        let right: Vec<f64> = x.iter().zip(&dy).map(|(x, dy)| dy * (f(x + 1e-6) - f(x - 1e-6)) / 2e-6).collect();
        assert_close(&format!("{function:?}"), &get(&dx, 77), &right, 1e-5);
    }
    let rows = RowsOf { numbers: &handle, rows: 7, width: 10 };
    let (y, width) = gpu().activation(Activation::Glu, rows).unwrap();
    let [u, v] = [0, 5].map(|at| (0..35).map(|e| x[e / 5 * 10 + at + e % 5]).collect::<Vec<_>>());
    assert_eq!(width, 5);
    assert_close("glu", &get(&y, 35), &u.iter().zip(&v).map(|(u, v)| u * sigmoid(*v)).collect::<Vec<_>>(), 1e-5);
    let dx = gpu().activation_backward(Activation::Glu, rows, &put(&dy)).unwrap();
    let right: Vec<f64> = (0..70)
        .map(|e| {
            let i = e / 10 * 5 + e % 5;
            let s = sigmoid(v[i]);
            dy[i] * if e % 10 < 5 { s } else { u[i] * s * (1.0 - s) }
        })
        .collect();
    assert_close("glu backward", &get(&dx, 70), &right, 1e-5);
}

#[test]
fn norms_of_rows_and_their_gradients() {
    let epsilon = 1e-5;
    for (rows, width) in [(1, 1), (9, 5), (33, 64), (5, 300)] {
        let (x, dy) = (numbers(3, rows * width), numbers(4, rows * width));
        let (gain, offset) = (numbers(5, width), numbers(6, width));
        let z = |x: &[f64]| -> Vec<f64> {
            let mean = x.iter().sum::<f64>() / width as f64;
            let square = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            x.iter().map(|x| (x - mean) / (square + epsilon).sqrt()).collect()
        };
        let all = |x: &[f64], affine: bool| -> Vec<f64> {
            let z = x.chunks_exact(width).flat_map(z).enumerate();
            z.map(|(e, z)| if affine { z * gain[e % width] + offset[e % width] } else { z }).collect()
        };
        let (handle, g, c, d) = (put(&x), put(&gain), put(&offset), put(&dy));
        let of = RowsOf { numbers: &handle, rows, width };
        for affine in [false, true] {
            let y = gpu().norm(of, affine.then_some([&g, &c]), epsilon).unwrap();
            assert_close("norm", &get(&y, rows * width), &all(&x, affine), 1e-4);
            let (dx, rest) = gpu().norm_backward(of, affine.then_some(&g), &d, epsilon).unwrap();
            let loss = |x: &[f64]| all(x, affine).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>();
            let right: Vec<f64> = (0..rows * width)
                .map(|e| {
                    let [mut up, mut down] = [x.clone(), x.clone()];
                    up[e] += 1e-6;
                    down[e] -= 1e-6;
                    (loss(&up) - loss(&down)) / 2e-6
                })
                .collect();
            if width > 1 {
                assert_close(&format!("dx of {rows} x {width}"), &get(&dx, rows * width), &right, 1e-4);
            }
            assert_eq!(rest.is_some(), affine);
            if let Some(rest) = rest {
                let z = all(&x, false);
                let sum = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
                    (0..width).map(|c| (0..rows).map(|r| of(r * width + c)).sum()).collect()
                };
                let right = [sum(&|e| dy[e] * z[e]), sum(&|e| dy[e])].concat();
                assert_close("gain and offset", &get(&rest, 2 * width), &right, 1e-4);
            }
        }
        let right: Vec<f64> = (0..width).map(|c| (0..rows).map(|r| x[r * width + c]).sum()).collect();
        assert_close("sum of rows", &get(&gpu().sum_rows(of).unwrap(), width), &right, 1e-5);
    }
}

#[test]
fn a_column_before_rows_and_behind_it() {
    let (x, handle) = (numbers(1, 35), put(&numbers(1, 35)));
    let out = gpu().prepend(RowsOf { numbers: &handle, rows: 5, width: 7 }, 0.5, 2.0).unwrap();
    let right: Vec<f64> = x.chunks_exact(7).flat_map(|row| std::iter::once(0.5).chain(row.iter().map(|x| 2.0 * x))).collect();
    assert_close("a column before", &get(&out, 40), &right, 1e-6);
    let back = gpu().behind(RowsOf { numbers: &out, rows: 5, width: 8 }, 3.0).unwrap();
    assert_close("behind it", &get(&back, 35), &x.iter().map(|x| 6.0 * x).collect::<Vec<_>>(), 1e-6);
    let (shift, factor) = (numbers(2, 7), numbers(3, 7));
    for has_shift in [false, true] {
        let of = RowsOf { numbers: &handle, rows: 5, width: 7 };
        let out = gpu().scale_columns(of, has_shift.then(|| put(&shift)).as_ref(), &put(&factor)).unwrap();
        let moved = |e: usize| x[e] - if has_shift { shift[e % 7] } else { 0.0 };
        let right: Vec<f64> = (0..35).map(|e| moved(e) * factor[e % 7]).collect();
        assert_close("by columns", &get(&out, 35), &right, 1e-6);
    }
}

#[test]
fn means_over_series_of_different_lengths() {
    let (lengths, places, width) = ([1, 40, 17], 40, 33);
    let (x, dy) = (numbers(1, 3 * places * width), numbers(2, 3 * width));
    let (handle, gradient) = (put(&x), put(&dy));
    let y = gpu().mean_rows(RowsOf { numbers: &handle, rows: 3 * places, width }, &lengths).unwrap();
    let mean = |b: usize, c: usize| (0..lengths[b]).map(|t| x[(b * places + t) * width + c]).sum::<f64>() / lengths[b] as f64;
    let right: Vec<f64> = (0..3 * width).map(|e| mean(e / width, e % width)).collect();
    assert_close("means", &get(&y, 3 * width), &right, 1e-5);
    let dx = gpu().mean_rows_backward(RowsOf { numbers: &gradient, rows: 3, width }, &lengths, places).unwrap();
    let share = |b: usize, t: usize| if t < lengths[b] { 1.0 / lengths[b] as f64 } else { 0.0 };
    let at = |e: usize| (e / (places * width), e / width % places, e % width);
    let right: Vec<f64> = (0..3 * places * width).map(at).map(|(b, t, c)| dy[b * width + c] * share(b, t)).collect();
    assert_close("gradient", &get(&dx, 3 * places * width), &right, 1e-5);
    assert!(gpu().mean_rows(RowsOf { numbers: &handle, rows: 3 * places, width }, &[1, 0, 1]).is_err());
}

#[test]
fn rows_at_other_places_of_their_series() {
    for width in [3, 8] {
        let (x, first) = (numbers(1, 2 * 5 * width), numbers(2, 2 * width));
        let handle = put(&x);
        let of = RowsOf { numbers: &handle, rows: 10, width };
        for (to, shift) in [(5, 0), (4, 1), (1, 4), (2, 1), (7, -1), (9, -4), (6, 2)] {
            let seen = gpu().move_rows(of, 5, to, shift).unwrap();
            let value = |e: usize| {
                let (series, t, c) = (e / (to * width), e / width % to, e % width);
                let from = usize::try_from(t as isize + shift).ok().filter(|&from| from < 5);
                from.map_or(0.0, |from| x[(series * 5 + from) * width + c])
            };
            let right: Vec<f64> = (0..2 * to * width).map(value).collect();
            assert_close("moved rows", &get(&seen, right.len()), &right, 1e-6);
        }
        let seen = gpu().join_rows(&put(&first), of, 5).unwrap();
        let series = |b: usize| [&first[b * width..][..width], &x[b * 5 * width..][..5 * width]].concat();
        assert_close("joined rows", &get(&seen, 12 * width), &[series(0), series(1)].concat(), 1e-6);
    }
}

#[test]
fn the_loss_of_classes_and_its_gradient() {
    let share = 0.3;
    for (rows, width, floor) in [(1, 2, 1e-8), (300, 7, 1e-2), (300, 7, 0.0)] {
        let z: Vec<f64> = numbers(1, rows * width).iter().map(|x| 8.0 * x).collect();
        let w: Vec<f64> = numbers(2, rows).iter().map(|x| x.abs()).collect();
        let labels: Vec<f64> = (0..rows).map(|i| (5 * i % width) as f64).collect();
        let loss = |z: &[f64]| -> f64 {
            let row = |((z, w), label): ((&[f64], &f64), &f64)| {
                let sum: f64 = z.iter().map(|z| z.exp()).sum();
                -share * w * (z[*label as usize].exp() / sum + floor).ln()
            };
            z.chunks_exact(width).zip(&w).zip(&labels).map(row).sum()
        };
        let [handle, own, weights] = [&z, &labels, &w].map(|own| put(own));
        let seen = gpu().class_loss(RowsOf { numbers: &handle, rows, width }, &own, &weights, floor, share).unwrap();
        assert_close("loss", &get(&seen[0], 1), &[loss(&z)], 1e-5);
        let right: Vec<f64> = (0..rows * width)
            .map(|e| {
                let [mut up, mut down] = [z.clone(), z.clone()];
                up[e] += 1e-5;
                down[e] -= 1e-5;
                (loss(&up) - loss(&down)) / 2e-5
            })
            .collect();
        assert_close("gradient", &get(&seen[1], rows * width), &right, 1e-4);
    }
    // A probability that f32 rounds to 0, and a label that is none of the classes.
    let z = put(&[200.0, 0.0]);
    let one = RowsOf { numbers: &z, rows: 1, width: 2 };
    let loss = |label: f64, floor: f64| get(&gpu().class_loss(one, &put(&[label]), &put(&[1.0]), floor, 1.0).unwrap()[0], 1)[0];
    assert!((loss(1.0, 0.0) - 200.0).abs() < 1e-3 && (loss(1.0, 1e-8) - 18.4207).abs() < 1e-3);
    assert!([2.0, 0.5, -1.0].iter().all(|&label| loss(label, 0.0).is_nan() && loss(label, 1e-8).is_nan()));
}

#[test]
fn dropout_has_the_masks_of_the_processor() {
    let (key, n) = (0xdead_beef_0123_4567_u64, 5000);
    let bits = |i: u64| {
        let mut z = key.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let x = put(&vec![1.0; n]);
    for rate in [0.0, 0.1, 0.5, 0.999] {
        let seen = get(&gpu().dropout(&x, n, key, rate).unwrap(), n);
        let uniform = |i: usize| (bits(i as u64) >> 11) as f64 / (1_u64 << 53) as f64;
        let right: Vec<f64> = (0..n).map(|i| if uniform(i) < rate { 0.0 } else { 1.0 / (1.0 - rate) }).collect();
        assert_close("mask", &seen, &right, 1e-6);
    }
}

#[test]
fn rows_of_a_table_and_its_gradient() {
    for (rows, vocabulary, width) in [(1, 1, 1), (70, 10, 33), (500, 150, 7)] {
        let tokens: Vec<f64> = numbers(8, rows).iter().map(|x| ((x + 0.5) * vocabulary as f64).floor()).collect();
        let (table, dy) = (numbers(9, vocabulary * width), numbers(10, rows * width));
        let (t, handle, d) = (put(&tokens), put(&table), put(&dy));
        let y = gpu().lookup(&t, rows, RowsOf { numbers: &handle, rows: vocabulary, width }).unwrap();
        let right: Vec<f64> = (0..rows * width).map(|e| table[tokens[e / width] as usize * width + e % width]).collect();
        assert_close("rows", &get(&y, rows * width), &right, 0.0);
        let of = gpu().lookup_backward(&t, RowsOf { numbers: &d, rows, width }, vocabulary).unwrap();
        let mut right = vec![0.0; vocabulary * width];
        (0..rows * width).for_each(|e| right[tokens[e / width] as usize * width + e % width] += dy[e]);
        assert_close("gradient", &get(&of, vocabulary * width), &right, 1e-5);
    }
    let table = put(&[1.0, 2.0]);
    let y = gpu().lookup(&put(&[-1.0, 2.0, 0.5, f64::NAN, 1.0]), 5, RowsOf { numbers: &table, rows: 2, width: 1 }).unwrap();
    let y = get(&y, 5);
    assert!(y[..4].iter().all(|y| y.is_nan()) && y[4] == 2.0, "{y:?}");
}

#[test]
fn sums_of_squares_and_updates_of_weights() {
    let sizes = [1, 255, 256, 10_001];
    let all: Vec<Vec<f64>> = sizes.iter().map(|&n| numbers(n as u64, n)).collect();
    let handles: Vec<Handle> = all.iter().map(|x| put(x)).collect();
    let of: Vec<(&Handle, usize)> = handles.iter().zip(sizes).collect();
    let right: Vec<f64> = all.iter().map(|x| x.iter().map(|x| x * x).sum()).collect();
    let parts: Vec<f32> = gpu().get(&gpu().squares(&of)).unwrap();
    let sums: Vec<f64> = wide(&parts).chunks_exact(parts.len() / 4).map(|own| own.iter().sum()).collect();
    assert_close("squares", &sums, &right, 1e-5);
    let total: f64 = right.iter().sum();
    let limited = |loss: f64, most: f64| {
        let limit = gpu().limit(&put(&[loss]), &of, most);
        (limit.clone(), wide::<f32>(&gpu().later(&limit)().unwrap()[..3]))
    };
    assert_close("no limit", &limited(3.0, 0.0).1, &[1.0, 3.0, total], 1e-5);
    assert_close("not reached", &limited(3.0, 2.0 * total.sqrt()).1, &[1.0, 3.0, total], 1e-5);
    let (half, seen) = limited(-3.0, 0.5 * total.sqrt());
    assert_close("half", &seen, &[0.5, -3.0, total], 1e-5);
    let nothing = [f64::NAN, f64::INFINITY].map(|loss| limited(loss, 1.0));
    assert!(nothing.iter().all(|(_, seen)| seen[0] == -1.0 && !seen[1].is_finite()), "{nothing:?}");
    let with = AdamConstants { beta: [0.9, 0.999], rate: 0.1, correction: 1.5, keep: 0.99, epsilon: 1e-8 };
    let sizes = [300, 1, 64, 1000];
    let old = |n: usize| {
        let [w, m, v, g] = [1, 2, 3, 4].map(|seed| numbers(seed + n as u64, n));
        [w, m, v.iter().map(|x| x.abs()).collect(), g]
    };
    let handles = sizes.map(|n| old(n).map(|x| put(&x)));
    let all: Vec<([&Handle; 4], usize)> = handles.iter().zip(sizes).map(|(own, n)| (own.each_ref(), n)).collect();
    let same = gpu().adam(with, &nothing[0].0, &all).unwrap();
    for (n, same) in sizes.into_iter().zip(same) {
        let [w, m, v, _] = old(n);
        for (same, right) in same.iter().zip([w, m, v]) {
            assert_eq!(get(same, n), wide::<f32>(&narrow::<f32>(&right)), "a loss that is no number changes nothing");
        }
    }
    let new = gpu().adam(with, &half, &all).unwrap();
    for (n, new) in sizes.into_iter().zip(new) {
        let [w, m, v, g] = old(n);
        let mut right = [Vec::new(), Vec::new(), Vec::new()];
        for i in 0..n {
            let g = 0.5 * g[i];
            let (m, v) = (0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g);
            right[0].push(0.99 * w[i] - 0.1 * m / ((1.5 * v).sqrt() + 1e-8));
            right[1].push(m);
            right[2].push(v);
        }
        for (new, right) in new.iter().zip(&right) {
            assert_close("update", &get(new, n), right, 1e-5);
        }
    }
}

/// Against the kernels of the processor.
#[test]
fn brackets_and_their_gradients() {
    use ncde_gpu::Element;
    let table = vec![
        Bracket::Letter(0),
        Bracket::Letter(1),
        Bracket::Letter(2),
        Bracket::Pair(0, 1),
        Bracket::Pair(0, 2),
        Bracket::Pair(1, 2),
        Bracket::Pair(0, 3),
        Bracket::Pair(3, 5),
        Bracket::Pair(5, 1),
    ];
    let elements = |table: &[Bracket]| -> Vec<Element> {
        let element = |own: &Bracket| match *own {
            Bracket::Letter(k) => Element::Letter(k),
            Bracket::Pair(p, q) => Element::Pair(p, q),
        };
        table.iter().map(element).collect()
    };
    let structures = [
        Structure::Dense { hidden: 5 },
        Structure::Block { sizes: vec![4; 3] },
        Structure::DiagonalDense { hidden: 9, block: 5 },
    ];
    // All of them, and those of two letters, which have kernels of their own.
    for (structure, count) in structures.into_iter().flat_map(|own| [(own.clone(), 9), (own, 6)]) {
        let table = &table[..count];
        let blocks = structure.sizes().unwrap();
        let field = Field::new(structure, 3).unwrap();
        let (hidden, each) = (field.hidden(), field.parameters() / 3);
        let cpu = Brackets::of_path(&field, table).unwrap();
        let own = ncde_gpu::Brackets::new(&blocks, 3, &elements(table)).unwrap();
        let (a, b) = (numbers(1, 3 * each), numbers(2, 3 * hidden));
        let (of_matrices, of_vectors) = (numbers(3, count * each), numbers(4, count * hidden));
        let (da, db) = (put(&a), put(&b));
        let gpu = gpu();
        assert_close("A", &get(&own.matrices(&gpu, &da).unwrap(), count * each), &cpu.matrices(&a).unwrap(), 1e-5);
        assert_close("c", &get(&own.vectors(&gpu, &da, &db).unwrap(), count * hidden), &cpu.vectors(&a, &b).unwrap(), 1e-5);
        let seen = own.matrices_backward(&gpu, &da, &put(&of_matrices)).unwrap();
        assert_close("dA", &get(&seen, 3 * each), &cpu.matrices_backward(&a, &of_matrices).unwrap(), 1e-5);
        let seen = own.vectors_backward(&gpu, &da, &db, &put(&of_vectors)).unwrap();
        let (right_a, right_b) = cpu.vectors_backward(&a, &b, &of_vectors).unwrap();
        assert_close("dA of vectors", &get(&seen[0], 3 * each), &right_a, 1e-5);
        assert_close("dB", &get(&seen[1], 3 * hidden), &right_b, 1e-5);
    }
    assert!(ncde_gpu::Brackets::new(&[2], 2, &[Element::Letter(0)]).is_err());
    assert!(ncde_gpu::Brackets::new(&[2], 1, &[Element::Letter(0), Element::Pair(0, 2)]).is_err());
}

/// Against the kernel of the processor.
#[test]
fn generators_of_short_windows_and_their_gradients() {
    // Block, blocks, steps, windows; with vectors and without.
    let shapes =
        [(3, 7, 5, 9), (1, 19, 3, 5), (9, 2, 3, 3), (16, 1, 2, 5), (2, 3, 1, 4), (5, 2, 4, 3), (8, 3, 4, 5), (32, 2, 1, 2)];
    for (i, &(block, blocks, steps, windows)) in some(&shapes, 4).iter().enumerate() {
        for &vectors in some(&[i % 2 == 0, i % 2 == 1], 1) {
            let cpu = Commutators { block, steps, vectors, factor: 0.5 / (1.0 + i as f64) };
            let own = ncde_gpu::Commutators { block, steps, vectors, factor: cpu.factor };
            let row = blocks * cpu.block_numbers();
            let (each, gradient) = (numbers(1, windows * steps * row), numbers(2, windows * row));
            let (gpu, handle) = (gpu(), put(&each));
            let seen = own.forward(&gpu, &handle, windows, row).unwrap();
            assert_close("generators", &get(&seen, windows * row), &cpu.forward(row, &each).unwrap(), 1e-5);
            let seen = own.backward(&gpu, &handle, &put(&gradient), windows, row).unwrap();
            let right = cpu.backward(row, &each, &gradient).unwrap();
            assert_close("gradient", &get(&seen, windows * steps * row), &right, 1e-5);
        }
    }
}
