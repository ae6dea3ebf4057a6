//! One value of a typed column as the text that a csv file has for it. Numbers are written so that they are read back the same.

use std::borrow::Cow;
use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, downcast_dictionary_array, downcast_integer_array};
use arrow_schema::{DataType, TimeUnit};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Whether values of this type have a text.
pub(super) fn is_known(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, value) => is_known(value),
        kind => {
            matches!(kind, DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
                || (kind.is_primitive() && !matches!(kind, DataType::Interval(_)))
        }
    }
}

/// The text of a value; blank if it is missing.
pub(super) fn of(array: &dyn Array, row: usize) -> Cow<'_, [u8]> {
    if array.is_null(row) {
        return Cow::Borrowed(b"");
    }
    let texts = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        DataType::Boolean if array.as_boolean().value(row) => "true",
        DataType::Boolean => "false",
        DataType::Dictionary(..) => {
            let (values, key) = downcast_dictionary_array! {
                array => (array.values(), array.key(row)),
                _ => return Cow::Borrowed(b""),
            };
            return key.filter(|&key| key < values.len()).map_or(Cow::Borrowed(&b""[..]), |key| of(values, key));
        }
        _ => return Cow::Owned(written(array, row).into_bytes()),
    };
    Cow::Borrowed(texts.as_bytes())
}

macro_rules! value {
    ($array:expr, $row:expr, $kind:ty) => {
        $array.as_primitive::<$kind>().value($row)
    };
}

fn written(array: &dyn Array, row: usize) -> String {
    let second = 1_000_000_000_i128;
    match array.data_type() {
        kind if kind.is_integer() => downcast_integer_array! {
            array => array.value(row).to_string(),
            _ => String::new(),
        },
        // Written in its own precision: 0.1 is 0.1, not the f64 that is nearest to it.
        DataType::Float16 => number(value!(array, row, Float16Type).to_f32()),
        DataType::Float32 => number(value!(array, row, Float32Type)),
        DataType::Float64 => number(value!(array, row, Float64Type)),
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        DataType::Timestamp(unit, zone) => {
            let nanoseconds = match unit {
                TimeUnit::Second => i128::from(value!(array, row, TimestampSecondType)) * second,
                TimeUnit::Millisecond => i128::from(value!(array, row, TimestampMillisecondType)) * 1_000_000,
                TimeUnit::Microsecond => i128::from(value!(array, row, TimestampMicrosecondType)) * 1_000,
                TimeUnit::Nanosecond => i128::from(value!(array, row, TimestampNanosecondType)),
            };
            stamp(nanoseconds, zone.is_some())
        }
        DataType::Date32 => day(i64::from(value!(array, row, Date32Type))),
        DataType::Date64 => stamp(i128::from(value!(array, row, Date64Type)) * 1_000_000, false),
        DataType::Time32(TimeUnit::Second) => clock(i128::from(value!(array, row, Time32SecondType)) * second),
        DataType::Time32(_) => clock(i128::from(value!(array, row, Time32MillisecondType)) * 1_000_000),
        DataType::Time64(TimeUnit::Microsecond) => clock(i128::from(value!(array, row, Time64MicrosecondType)) * 1_000),
        DataType::Time64(_) => clock(i128::from(value!(array, row, Time64NanosecondType))),
        DataType::Duration(TimeUnit::Second) => value!(array, row, DurationSecondType).to_string(),
        DataType::Duration(TimeUnit::Millisecond) => number(value!(array, row, DurationMillisecondType) as f64 / 1e3),
        DataType::Duration(TimeUnit::Microsecond) => number(value!(array, row, DurationMicrosecondType) as f64 / 1e6),
        DataType::Duration(TimeUnit::Nanosecond) => number(value!(array, row, DurationNanosecondType) as f64 / 1e9),
        _ => String::new(),
    }
}

/// A number with as many digits as it needs; none if it is NaN.
fn number<X: Into<f64> + Copy + std::fmt::Display + std::fmt::LowerExp>(x: X) -> String {
    let size: f64 = x.into().abs();
    if size.is_nan() {
        String::new()
    } else if size == 0.0 || (1e-5..1e16).contains(&size) || size.is_infinite() {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// A time as ISO 8601 has it, with its offset where the column has a zone. What no calendar has is the number it is, and no time.
fn stamp(nanoseconds: i128, has_zone: bool) -> String {
    let Ok(stamp) = Timestamp::from_nanosecond(nanoseconds) else { return nanoseconds.to_string() };
    let mut text = stamp.to_string();
    if !has_zone {
        text.truncate(text.len() - 1);
    }
    text
}

fn day(days: i64) -> String {
    let stamp = days.checked_mul(86_400).and_then(|seconds| Timestamp::from_second(seconds).ok());
    stamp.map_or_else(|| days.to_string(), |stamp| stamp.to_zoned(TimeZone::UTC).date().to_string())
}

/// A time of day.
fn clock(nanoseconds: i128) -> String {
    let (seconds, rest) = (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest > 0 {
        // Writing to a text cannot fail.
        let _ = write!(text, ".{rest:09}");
    }
    text
}
