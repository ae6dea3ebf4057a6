//! Temporary timings.
#![allow(missing_docs, clippy::all)]
use cubecl::prelude::*;
use ncde_gpu::*;
use std::time::Instant;
type R = cubecl::cuda::CudaRuntime;

#[cube(launch_unchecked)]
fn scale(x: &Array<f32>, out: &mut Array<f32>, f: f32) {
    if ABSOLUTE_POS < x.len() {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * f;
    }
}

fn rnd(seed: u64, n: usize, dev: f32) -> Vec<f32> {
    let mut z = seed;
    (0..n)
        .map(|_| {
            let mut s = 0.0;
            for _ in 0..4 {
                z = z.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                s += ((z >> 40) as f32) / (1u64 << 24) as f32 - 0.5;
            }
            s * 1.732 * dev
        })
        .collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let client = R::client(&Default::default());
    let units: usize = args.get(1).map_or(132 << 11, |x| x.parse().unwrap());
    let only: Option<usize> = args.get(2).and_then(|x| x.parse().ok());
    for (i, (name, blocks, length, exact, batch, d)) in [
        ("diagonal 17984 euler", vec![1; 128], 17984, false, 4, 7),
        ("block4 17984 euler", vec![4; 32], 17984, false, 4, 7),
        ("block4 1499 euler", vec![4; 32], 1499, false, 4, 7),
        ("block4 1499 exp", vec![4; 32], 1499, true, 4, 7),
        ("block4 1499 exp d28", vec![4; 32], 1499, true, 4, 28),
        ("block4 40 exp b256 d129", vec![4; 32], 40, true, 256, 129),
        ("block8 17984 exp", vec![8; 16], 17984, true, 4, 7),
        ("dense 1499 euler", vec![128; 1], 1499, false, 4, 7),
        ("dense 17984 euler", vec![128; 1], 17984, false, 4, 7),
    ]
    .into_iter()
    .enumerate()
    {
        if only.is_some_and(|o| o != i) {
            continue;
        }
        if (blocks[0] > 8) != args.get(3).is_some() && only.is_none() {
            continue;
        }
        for units in if only.is_some() { vec![units] } else { vec![units / 4, units / 2, units, units * 2] } {
            let gpu = Gpu::new(client.clone()).with_limits(Limits { units, ..Limits::default() });
            let b = blocks[0];
            let h: usize = blocks.iter().sum();
            let e: usize = blocks.iter().map(|b| b * b).sum();
            let shapes = Shapes { batch, length, columns: 1, coefficients: d };
            let put = |x: Vec<f32>| client.create_from_slice(bytemuck::cast_slice(&x));
            let arrays = Arrays {
                a: put(rnd(1, d * e, 0.25 / (b as f32).sqrt())),
                coefficients: put(rnd(2, batch * length * d, 0.05)),
                initial: put(rnd(3, batch * h, 1.0)),
                affine: None,
                lengths: None,
            };
            let flow = Flow { exact, affine: Affine::None };
            let n = batch * length * h;
            let rec = ncde_gpu::Recurrence::new(blocks.clone(), flow).unwrap();
            let gpurec = rec.clone();
            let mut run = || {
                let states = rec.forward(&gpu, shapes, &arrays).unwrap();
                let g = client.empty(n * 4);
                unsafe {
                    scale::launch_unchecked::<R>(
                        &client,
                        CubeCount::Static(n.div_ceil(256) as u32, 1, 1),
                        CubeDim::new_1d(256),
                        ArrayArg::from_raw_parts(states.clone(), n),
                        ArrayArg::from_raw_parts(g.clone(), n),
                        2.0 / n as f32,
                    );
                }
                rec.backward(&gpu, shapes, &arrays, (&states, &g), true).unwrap()
            };
            if only.is_none() && length < 2000 || (length > 2000 && b > 8 && args.get(4).is_some()) {
                use ncde_kernels::*;
                let field = Field::new(Structure::Block { sizes: blocks.clone() }, d).unwrap();
                let rec =
                    ncde_kernels::Recurrence::new(field).with_transition(if exact { Transition::Exp } else { Transition::Euler });
                let (a, c, h0) =
                    (rnd(1, d * e, 0.25 / (b as f32).sqrt()), rnd(2, batch * length * d, 0.05), rnd(3, batch * h, 1.0));
                let input =
                    Input { batch, length, columns: 1, a: &a, coefficients: &c, initial: &h0, affine: None, lengths: None };
                let st = rec.forward(&input).unwrap();
                let g: Vec<f32> = st.iter().map(|x| x * (2.0 / n as f32)).collect();
                let gr = rec.backward(&input, &st, &g).unwrap();
                let states = rec.forward(&gpu, shapes, &arrays).unwrap();
                let of = gpurec.backward(&gpu, shapes, &arrays, (&states, &put(g)), true).unwrap();
                let diff = |handle, right: &[f32]| {
                    let x = client.read_one(handle).unwrap();
                    let x: &[f32] = bytemuck::cast_slice(&x);
                    let m = right.iter().fold(0.0f32, |m, x| m.max(x.abs()));
                    x.iter().zip(right).fold(0.0f32, |w, (x, y)| if (x - y).is_nan() { f32::NAN } else { w.max((x - y).abs()) })
                        / m
                };
                println!(
                    "  errors {:.1e} {:.1e} {:.1e} {:.1e}",
                    diff(states, &st),
                    diff(of.a, &gr.a),
                    diff(of.coefficients.unwrap(), &gr.coefficients),
                    diff(of.initial, &gr.initial)
                );
            }
            let sync = || cubecl::future::block_on(client.sync()).unwrap();
            if only.is_some() {
                run();
                sync();
                continue;
            }
            for _ in 0..3 {
                run();
                sync();
            }
            let mut times: Vec<f64> = (0..20)
                .map(|_| {
                    let t = Instant::now();
                    run();
                    sync();
                    t.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let t = Instant::now();
            for _ in 0..20 {
                run();
            }
            let host = t.elapsed().as_secs_f64() * 1e3 / 20.0;
            sync();
            let many = t.elapsed().as_secs_f64() * 1e3 / 20.0;
            let mut f: Vec<f64> = (0..10)
                .map(|_| {
                    let t = Instant::now();
                    rec.forward(&gpu, shapes, &arrays).unwrap();
                    sync();
                    t.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            f.sort_by(f64::total_cmp);
            println!(
                "{name:26} units {units:6} {:?} best {:.3} median {:.3} pipelined {:.3} host {:.3} forward {:.3} ms",
                Plan::new(Run::of(&blocks)[0], shapes, Limits { units, ..Limits::default() }),
                times[0],
                times[10],
                many,
                host,
                f[0]
            );
        }
    }
}
