//! How many bytes a packing makes of one, at most. These are limits of the packings themselves, so no sound file is beyond them,
//! however even its values are.

/// A copy of up to 64 bytes is three bytes long.
pub(super) const SNAPPY: usize = 22;
/// A byte of a length counts up to 255.
pub(super) const LZ4: usize = 255;
/// 258 bytes in two bits.
pub(super) const GZIP: usize = 1032;
/// A block of 128 KiB is four bytes long if one byte is repeated.
pub(super) const ZSTD: usize = 1 << 15;
