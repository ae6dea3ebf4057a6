//! Tokens, from a file to a stream, and compositions of one's own.

use crate::common;

use common::Folder;

/// Words of bits, and at each bit whether their sum so far is odd.
fn bits(words: u64, shortest: u64, longest: u64) -> String {
    let mut text = String::from("id,time,bit,label\n");
    for word in 0..words {
        let stream = ncde_runtime::random::Stream::new(word, longest);
        let length = shortest + stream.bits(1000) % (longest - shortest + 1);
        let mut odd = false;
        for t in 0..length {
            let one = stream.bits(t) % 2 == 1;
            odd ^= one;
            text += &format!("{word},{t},{},{}\n", if one { "one" } else { "zero" }, if odd { "odd" } else { "even" });
        }
    }
    text
}

/// What a model says at every observation of a file, predicted and streamed.
fn predicted_as_streamed(folder: &Folder, model: &str, file: &str, text: &str) {
    let predicted = folder.run(&format!("predict {model} --data {file}")).csv();
    let streamed = folder.run_with(&format!("stream {model}"), text).csv();
    assert_eq!(predicted.len(), text.lines().count());
    assert_eq!(predicted, streamed);
}

#[test]
fn a_stack_learns_parity_of_words_of_40_bits_and_streams_it() {
    let test = bits(40, 40, 40);
    let folder = Folder::new().with("train.csv", bits(1000, 3, 40)).with("test.csv", test.clone());
    let settings = "--set blocks=1 --set hidden=32 --steps 400 --set rate=0.006 --set step=0.05 --set optimizer=adam";
    folder.run(&format!("train --model stack --data train.csv --test test.csv {settings} --out stack")).ok();
    let metrics = folder.run("eval stack --data test.csv --json").json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.99, "{metrics}");
    predicted_as_streamed(&folder, "stack", "test.csv", &test);
    assert!(folder.run("inspect stack").ok().stdout.contains("2: one, zero"));

    // A token that training did not see is an error with a name, unless it was asked to be taken for `<unknown>`.
    let strange = "id,time,bit\n0,0,one\n0,1,two\n";
    let folder = folder.with("strange.csv", strange);
    folder.run("predict stack --data strange.csv").failed(2, &["`two`"]);
    assert!(
        folder
            .run_with("stream stack", strange)
            .stderr
            .contains("line 3: column `bit`: `two` is not one of those seen in training: `one`, `zero`")
    );
    let line = "{\"id\": \"a\", \"time\": 0, \"values\": [\"one\"]}\n";
    assert!(folder.run_with("stream stack", line).ok().stdout.contains("prediction"));
    folder.run("train --data train.csv --set unknown=true --set blocks=1 --set hidden=8 --steps 2 --out open").ok();
    assert_eq!(folder.run("predict open --data strange.csv").csv().len(), 3);
    folder.run("train --data train.csv --model slice --out no").failed(2, &["the data are tokens; use `stack`"]);
}

#[test]
fn a_composition_of_ones_own_learns_from_tokens_too() {
    let test = bits(20, 12, 12);
    let layers = r#"
[data]
tokens = "bit"
[train]
steps = 300
rate = 0.01
optimizer = "adam"
[[model.layers]]
layer = "embedding"
width = 16
[[model.layers]]
layer = "linear-cde"
hidden = 16
structure = { kind = "block", block = 4 }
drive = { kind = "tokens" }
initial = "learned"
scale = 0.1
init = { kind = "scaled", deviation = 1.0 }
[[model.layers]]
layer = "layer-norm"
[[model.layers]]
layer = "residual"
[[model.layers.layers]]
layer = "convolution"
size = 2
[[model.layers.layers]]
layer = "activation"
function = "tanh"
[[model.layers]]
layer = "linear"
"#;
    let folder = Folder::new().with("train.csv", bits(400, 3, 12)).with("test.csv", test.clone()).with("own.toml", layers);
    folder.run("train --config own.toml --data train.csv --test test.csv --out own").ok();
    let metrics = folder.run("eval own --data test.csv --json").json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.9, "{metrics}");
    predicted_as_streamed(&folder, "own", "test.csv", &test);
    // The settings that are printed can be given back.
    let printed = folder.run("train --config own.toml --data train.csv --print-config").ok().stdout.clone();
    let folder = folder.with("printed.toml", printed.clone());
    assert_eq!(folder.run("train --config printed.toml --print-config").ok().stdout, printed);
}
