//! Parquet and Arrow files: what they hold is what a csv file of the same data holds, and a build without them says so.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_data::{Error, Format, ReadOptions, read_bytes};

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_feature_they_are_refused_by_name() {
    for (name, bytes, what) in [
        ("a.parquet", &b"PAR1\x15\x04"[..], "a Parquet file"),
        ("a.feather", b"ARROW1\0\0", "an Arrow file"),
        ("a.arrow", b"\xff\xff\xff\xff\x10\0\0\0", "an Arrow file"),
        ("unnamed", b"PAR1", "a Parquet file"),
    ] {
        let error = read_bytes(name, bytes, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::NotBuilt { feature: "parquet", .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(what) && message.contains("`--features parquet`") && message.contains(name), "{message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn what_is_none_is_told() {
    for (name, bytes, part) in [
        ("a.parquet", &b"id,time,x\na,0,1\n"[..], "does not start as a Parquet file does"),
        ("a.arrow", b"id,time,x\na,0,1\n", "does not start as an Arrow file does"),
        ("a.feather", b"FEA1....", "version 1 of Feather"),
        ("a.csv", b"PAR1....", "it starts as a Parquet file does"),
    ] {
        let error = read_bytes(name, bytes, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::WrongFormat { .. }) && error.to_string().contains(part), "{error}");
    }
    for (name, format) in [("a.PQ", Format::Parquet), ("a.parquet.gz", Format::Parquet), ("a.feather", Format::Arrow)] {
        assert_eq!(Format::of(std::path::Path::new(name)), Some(format));
    }
}

#[cfg(feature = "parquet")]
mod built {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array, ListArray,
        RecordBatch, StringArray, TimestampMillisecondArray, UInt8Array,
    };
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use ncde_data::{Columns, ReadOptions, load, load_bytes, read_bytes};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;

    /// One table three times, and packed in the ways they are packed.
    fn files(batch: &RecordBatch) -> Vec<(&'static str, Vec<u8>)> {
        let parquet = |packing| {
            let properties = WriterProperties::builder().set_compression(packing).build();
            let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
            writer.write(batch).unwrap();
            writer.into_inner().unwrap()
        };
        let packed = |packing| IpcWriteOptions::default().try_with_compression(packing).unwrap();
        let file = |packing| {
            let file = Cursor::new(Vec::new());
            let mut file = FileWriter::try_new_with_options(file, &batch.schema(), packed(packing)).unwrap();
            file.write(batch).unwrap();
            file.finish().unwrap();
            file.into_inner().unwrap().into_inner()
        };
        let stream = |packing| {
            let mut stream = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), packed(packing)).unwrap();
            stream.write(batch).unwrap();
            stream.finish().unwrap();
            stream.into_inner().unwrap()
        };
        vec![
            ("table.parquet", parquet(Compression::UNCOMPRESSED)),
            ("table.parquet", parquet(Compression::SNAPPY)),
            ("table.parquet", parquet(Compression::ZSTD(ZstdLevel::default()))),
            ("table.feather", file(None)),
            ("table.feather", file(Some(CompressionType::LZ4_FRAME))),
            ("table.arrow", stream(None)),
            ("table.arrow", stream(Some(CompressionType::ZSTD))),
        ]
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
    }

    /// Two patients, every type that a table has.
    fn stays() -> RecordBatch {
        let sex: DictionaryArray<Int32Type> = vec![Some("f"), Some("f"), Some("f"), Some("m"), Some("m")].into_iter().collect();
        let dose = Decimal128Array::from(vec![Some(1250), None, Some(-5), Some(0), Some(99999)]).with_precision_and_scale(9, 3);
        let at = vec![1_614_870_367_250, 1_614_870_368_000, 1_614_956_768_000, 1_614_870_367_000, 1_614_870_370_000];
        batch(vec![
            ("patient_id", Arc::new(StringArray::from(vec!["p, 1", "p, 1", "p, 1", "q\n2", "q\n2"]))),
            ("timestamp", Arc::new(TimestampMillisecondArray::from(at))),
            ("sex", Arc::new(sex)),
            ("temp", Arc::new(Float32Array::from(vec![Some(36.6), None, Some(1e-7), Some(f32::NAN), Some(3e20)]))),
            ("rate", Arc::new(Float64Array::from(vec![0.1 + 0.2, 1e300, -0.0, 5.5, 7.25]))),
            ("dose", Arc::new(dose.unwrap())),
            ("count", Arc::new(Int64Array::from(vec![Some(9_007_199_254_740_992), Some(2), None, Some(-4), Some(4)]))),
            ("small", Arc::new(UInt8Array::from(vec![255, 0, 1, 7, 7]))),
            ("alarm", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(false), Some(true)]))),
            ("label", Arc::new(StringArray::from(vec!["ill", "ill", "ill", "well", "well"]))),
        ])
    }

    const STAYS: &str = "patient_id,timestamp,sex,temp,rate,dose,count,small,alarm,label
\"p, 1\",2021-03-04T15:06:07.25,f,36.6,0.30000000000000004,1.250,9007199254740992,255,true,ill
\"p, 1\",2021-03-04T15:06:08,f,,1e300,,2,0,false,ill
\"p, 1\",2021-03-05T15:06:08,f,1e-7,-0.0,-0.005,,1,,ill
q?2,2021-03-04T15:06:07,m,,5.5,0,-4,7,false,well
q?2,2021-03-04T15:06:10,m,3e20,7.25,99.999,4,7,true,well
";

    #[test]
    fn a_table_is_that_of_its_csv() {
        let mut wanted = load_bytes("table.csv", STAYS.as_bytes(), &ReadOptions::default()).unwrap();
        // A csv file has no place for the end of a line in a cell.
        wanted.data.cases[1].id = "q\n2".into();
        for (name, bytes) in files(&stays()) {
            let seen = load_bytes(name, &bytes, &ReadOptions::default()).unwrap();
            let (layout, other) = (seen.layout.as_ref().unwrap(), wanted.layout.as_ref().unwrap());
            assert_eq!((layout.to_string(), &seen.warnings), (other.to_string(), &wanted.warnings), "{name}");
            assert_eq!(layout, other, "{name}");
            // NaN is not NaN; what is written of both is the same.
            assert_eq!(format!("{:?}", seen.data), format!("{:?}", wanted.data), "{name}");
        }
    }

    #[test]
    fn a_layout_is_obeyed_across_formats() {
        let csv = load_bytes("table.csv", STAYS.as_bytes(), &ReadOptions::default()).unwrap();
        for (name, bytes) in files(&stays()) {
            let options = ReadOptions { layout: csv.layout.clone(), ..ReadOptions::default() };
            let seen = load_bytes(name, &bytes, &options).unwrap();
            assert!(seen.data.aligned(&csv.data.schema()).is_ok());
        }
        let options = ReadOptions {
            columns: Columns { ignore: Some(vec!["dose".into()]), time: Some("none".into()), ..Columns::default() },
            ..ReadOptions::default()
        };
        let (_, bytes) = files(&stays()).remove(0);
        let layout = load_bytes("table.parquet", &bytes, &options).unwrap().layout.unwrap().to_string();
        assert!(layout.contains("dose") && layout.contains("-> ignored") && layout.contains("times are counted"), "{layout}");
    }

    #[test]
    fn dates_zones_and_labels_beside() {
        let days = batch(vec![
            ("day", Arc::new(Date32Array::from(vec![18_690, 18_691, 18_693]))),
            ("x", Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5]))),
        ]);
        let zoned = TimestampMillisecondArray::from(vec![0, 1, 1500]).with_timezone("+02:00");
        let zoned = batch(vec![("time", Arc::new(zoned)), ("x", days.column(1).clone())]);
        for (table, wanted, times) in [
            (days, "day -> time (ISO, UTC), x -> channel", [1_614_816_000.0, 1_614_902_400.0, 1_615_075_200.0]),
            (zoned, "time -> time (ISO, with offsets), x -> channel", [0.0, 0.001, 1.5]),
        ] {
            for (name, bytes) in files(&table) {
                let seen = load_bytes(name, &bytes, &ReadOptions::default()).unwrap();
                assert_eq!(
                    (seen.layout.unwrap().to_string().as_str(), &seen.data.cases[0].times[..]),
                    (wanted, &times[..]),
                    "{name}"
                );
            }
        }
        let labels = batch(vec![
            ("id", Arc::new(StringArray::from(vec!["a", "b"]))),
            ("label", Arc::new(StringArray::from(vec!["u", "v"]))),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let (data, beside) = (folder.path().join("data.csv"), folder.path().join("labels.parquet"));
        std::fs::write(&data, "id,time,x\na,0,1\nb,0,2\n").unwrap();
        std::fs::write(&beside, &files(&labels)[1].1).unwrap();
        let seen = load(&data, &ReadOptions { labels: Some(beside), ..ReadOptions::default() }).unwrap();
        assert_eq!(seen.data.targets.classes(), ["u", "v"]);
    }

    #[test]
    fn what_has_no_place_is_named() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None]);
        let table = batch(vec![("x", Arc::new(Float64Array::from(vec![1.5, 2.5]))), ("tags", Arc::new(lists))]);
        let (_, bytes) = files(&table).remove(0);
        let message = read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("column `tags`") && message.contains("--ignore tags"), "{message}");
        let options = ReadOptions {
            columns: Columns { ignore: Some(vec!["tags".into()]), ..Columns::default() },
            ..ReadOptions::default()
        };
        assert_eq!(read_bytes("a.parquet", &bytes, &options).unwrap().channels, ["x"]);
        let message = read_bytes("a.parquet", &bytes[..bytes.len() - 9], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("cannot be read as a Parquet file") && !message.contains('\n'), "{message}");
        let empty = files(&table.slice(0, 0)).remove(0).1;
        let message = read_bytes("a.parquet", &empty, &options).unwrap_err().to_string();
        assert!(message.contains("no rows"), "{message}");
    }

    fn survives(format: Format) {
        let simple = batch(vec![
            ("id", Arc::new(StringArray::from(vec!["a", "a", "b"]))),
            ("time", Arc::new(Int64Array::from(vec![0, 1, 0]))),
            ("x", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.5)]))),
        ]);
        let seeds: Vec<Vec<u8>> = (files(&stays()).into_iter().chain(files(&simple)))
            .filter(|(name, _)| (*name == "table.parquet") == (format == Format::Parquet))
            .map(|(_, bytes)| bytes)
            .collect();
        crate::mutations::survives(format, &seeds, 300);
    }

    #[test]
    fn mutants_of_parquet() {
        survives(Format::Parquet);
    }

    #[test]
    fn mutants_of_arrow() {
        survives(Format::Arrow);
    }

    /// One column in one page, packed so.
    fn one_page(column: ArrayRef, packing: Compression, version: WriterVersion) -> Vec<u8> {
        let table = batch(vec![("x", column)]);
        let properties = WriterProperties::builder()
            .set_compression(packing)
            .set_writer_version(version)
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(usize::MAX)
            .set_data_page_size_limit(1 << 30)
            .set_write_batch_size(1 << 20);
        let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties.build())).unwrap();
        writer.write(&table).unwrap();
        writer.into_inner().unwrap()
    }

    /// A page of a hundred bytes says that 2 GiB are in it: these would be asked for, and filled, before it is unpacked.
    #[test]
    fn pages_that_cannot_be_so_large_are_refused() {
        // The header follows the mark of four bytes: fields 1, 2 and 3 of type 5, each a number; the type is 0.
        const HEADER: usize = 4;
        for (packing, says) in [
            (Compression::SNAPPY, "SNAPPY makes at most 22"),
            (Compression::LZ4_RAW, "LZ4_RAW makes at most 255"),
            (Compression::ZSTD(ZstdLevel::default()), "makes at most 32768"),
            (Compression::GZIP(GzipLevel::default()), "makes at most 1032"),
        ] {
            let column: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.37).collect();
            let mut bytes = one_page(Arc::new(Float64Array::from(column)), packing, WriterVersion::PARQUET_1_0);
            assert!(read_bytes("a.parquet", &bytes, &ReadOptions::default()).is_ok());
            assert_eq!(bytes[HEADER..HEADER + 3], [0x15, 0, 0x15]);
            let at = HEADER + 3;
            let [a, b, 0x15, c, d, ..] = bytes[at..] else { panic!("{:?}", &bytes[at..at + 9]) };
            assert!(a >= 128 && b < 128 && c >= 128 && d < 128, "two numbers of two bytes");
            let packed = (u16::from(c & 127) | u16::from(d) << 7) / 2;
            // Three bytes more of the header are three less of the page.
            let less = (packed - 3) * 2;
            let header = [0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, (less & 127) as u8 | 128, (less >> 7) as u8];
            let end = bytes.len();
            bytes.splice(at..at + 5, header);
            let page = at + 40;
            bytes.drain(page..page + 3);
            assert_eq!(bytes.len(), end);
            let message = read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap_err().to_string();
            let claim = format!("column `x`, byte 4: a page of {} bytes claims to hold 2147483647, but ", packed - 3);
            assert!(message.contains(&claim) && message.contains(says) && !message.contains('\n'), "{message}");
        }
    }

    /// Blocks that lie behind the end, and buffers that would be larger than all memory.
    #[test]
    fn blocks_and_buffers_that_cannot_be_so_large_are_refused() {
        let even = batch(vec![("x", Arc::new(Float64Array::from(vec![1.5; 4000])))]);
        let mut refused = 0;
        for (name, mut bytes) in files(&even).into_iter().filter(|(name, _)| *name != "table.parquet") {
            assert!(read_bytes(name, &bytes, &ReadOptions::default()).is_ok());
            if bytes.len() > 32_000 {
                continue; // It is not packed.
            }
            let claimed = bytes.windows(8).rposition(|eight| eight == 32_000_u64.to_le_bytes()).unwrap();
            bytes[claimed..claimed + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
            let message = read_bytes(name, &bytes, &ReadOptions::default()).unwrap_err().to_string();
            assert!(message.contains("bytes claims to hold 1152921504606846976, but "), "{name}: {message}");
            refused += 1;
        }
        assert_eq!(refused, 2);
        // The one block of a file, in its footer: a place, the length of its header, four bytes of nothing, the length of its body.
        let (name, mut bytes) = files(&even).into_iter().find(|(name, _)| *name == "table.feather").unwrap();
        let footer = bytes.len() - 10 - u32::from_le_bytes(*bytes[bytes.len() - 10..].first_chunk().unwrap()) as usize;
        let body = (bytes[footer..].chunks_exact(8).map(|own| u64::from_le_bytes(*own.first_chunk().unwrap())))
            .position(|own| (32_000..33_000).contains(&own))
            .unwrap();
        let head = footer + 8 * body - 8;
        bytes[head..head + 4].copy_from_slice(&0x3200_0280_u32.to_le_bytes());
        let message = read_bytes(name, &bytes, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("claims 838861440 and 32000 bytes, but the file has"), "{message}");
    }

    /// A block whose header is shorter than its message, so that its buffers are read 64 bytes before where they are.
    #[test]
    fn a_block_that_is_cut_in_another_place_is_refused() {
        let even: ArrayRef = Arc::new(Float64Array::from(vec![1.5; 4000]));
        let table = files(&batch(vec![("x", even.clone()), ("y", even)]));
        let mut bytes = table.into_iter().find(|(name, bytes)| *name == "table.feather" && bytes.len() < 32_000).unwrap().1;
        let claimed = bytes.windows(8).rposition(|eight| eight == 32_000_u64.to_le_bytes()).unwrap() - 64;
        bytes[claimed..claimed + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        let end = bytes.len() - 10;
        let footer = end - u32::from_le_bytes(*bytes[end..].first_chunk().unwrap()) as usize;
        let block = *arrow_ipc::root_as_footer(&bytes[footer..end]).unwrap().recordBatches().unwrap().get(0);
        let start = [&block.offset().to_le_bytes()[..], &block.metaDataLength().to_le_bytes()].concat();
        let place = bytes.windows(12).rposition(|own| own == start).unwrap() + 8;
        bytes[place..place + 4].copy_from_slice(&(block.metaDataLength() - 64).to_le_bytes());
        let message = read_bytes("a.feather", &bytes, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("claims to hold"), "{message}");
    }

    #[test]
    fn values_that_are_all_the_same_are_read() {
        let rows = 300_000;
        let columns: [ArrayRef; 3] = [
            Arc::new(Float64Array::from(vec![1.5; rows])),
            Arc::new(Float64Array::from(vec![None; rows])),
            Arc::new(StringArray::from(vec!["of twenty characters"; rows])),
        ];
        let packings = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::GZIP(GzipLevel::try_new(9).unwrap()),
            Compression::ZSTD(ZstdLevel::try_new(19).unwrap()),
        ];
        for (column, packing) in columns.iter().flat_map(|column| packings.map(|packing| (column, packing))) {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let bytes = one_page(column.clone(), packing, version);
                match read_bytes("a.parquet", &bytes, &ReadOptions::default()) {
                    Ok(data) => assert_eq!(data.cases[0].len(), rows),
                    Err(error) => panic!("{packing} {version:?} of {}: {error}", column.data_type()),
                }
            }
        }
    }

    /// Columns of nulls cost no bytes.
    #[test]
    fn rows_that_cannot_be_there_are_refused() {
        let rows = 5_000_000;
        let nulls = batch(vec![("x", Arc::new(arrow_array::NullArray::new(rows)))]);
        for (name, bytes) in files(&nulls) {
            if name != "table.parquet" {
                let error = read_bytes(name, &bytes, &ReadOptions::default()).unwrap_err().to_string();
                assert!(error.contains("too many rows: 5000000"), "{name}: {error}");
            }
        }
    }
}
