//! The messages of an Arrow file or stream, before anything is unpacked: none may claim more bytes than there are, and no buffer
//! more than its packing can make of those it has.
//!
//! What cannot be read here is left alone: the reader meets it next, and says what it is.

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{CompressionType, root_as_footer, root_as_message};

use super::packing;

/// Before the length of a message, unless it is an old one.
const MARK: [u8; 4] = [0xff; 4];

/// Refuses a file whose blocks claim what cannot be there.
pub(super) fn check_file(bytes: &[u8]) -> Result<(), String> {
    let Some(end) = bytes.last_chunk::<10>() else { return Ok(()) };
    let Ok(length) = read_footer_length(*end) else { return Ok(()) };
    let rest = &bytes[..bytes.len() - end.len()];
    let footer = rest.len().checked_sub(length).and_then(|start| root_as_footer(&rest[start..]).ok());
    let Some(footer) = footer else { return Ok(()) };
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    for block in blocks {
        let (start, head, body) = (block.offset(), i64::from(block.metaDataLength()), block.bodyLength());
        let parts = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).and_then(|rest| {
            let head = usize::try_from(head).ok()?;
            let block = rest.get(..head.checked_add(usize::try_from(body).ok()?)?)?;
            Some((block, &block[head..]))
        });
        let Some((block, body)) = parts else {
            let all = bytes.len();
            return Err(format!("a block at byte {start} claims {head} and {body} bytes, but the file has {all}"));
        };
        // As the reader does it: a message is looked for in all of its block.
        let message = block.strip_prefix(&MARK).unwrap_or(block);
        check(message.get(4..).unwrap_or_default(), body).map_err(|problem| format!("block at byte {start}: {problem}"))?;
    }
    Ok(())
}

/// Refuses a stream whose messages do.
pub(super) fn check_stream(bytes: &[u8]) -> Result<(), String> {
    let mut rest = bytes;
    loop {
        let start = bytes.len() - rest.len();
        rest = rest.strip_prefix(&MARK).unwrap_or(rest);
        let next = rest.split_first_chunk::<4>().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(length).filter(|_| length > 0)
        });
        let Some((head, behind)) = next else { return Ok(()) };
        let Ok(message) = root_as_message(head) else { return Ok(()) };
        let length = usize::try_from(message.bodyLength()).ok();
        let Some((body, behind)) = length.and_then(|length| behind.split_at_checked(length)) else { return Ok(()) };
        check(head, body).map_err(|problem| format!("message at byte {start}: {problem}"))?;
        rest = behind;
    }
}

/// The buffers of a message: each begins with the number of bytes that it holds, -1 if it is not packed.
fn check(head: &[u8], body: &[u8]) -> Result<(), String> {
    let Ok(message) = root_as_message(head) else { return Ok(()) };
    let dictionary = || message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or_else(dictionary) else { return Ok(()) };
    let (name, most) = match batch.compression().map(|compression| compression.codec()) {
        Some(CompressionType::LZ4_FRAME) => ("LZ4", packing::LZ4),
        Some(CompressionType::ZSTD) => ("Zstandard", packing::ZSTD),
        _ => return Ok(()),
    };
    for buffer in batch.buffers().into_iter().flatten() {
        let place = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let buffer = place.and_then(|(offset, length)| body.get(offset..)?.get(..length));
        let Some((claimed, packed)) = buffer.and_then(|buffer| buffer.split_first_chunk::<8>()) else { continue };
        let claimed = i64::from_le_bytes(*claimed);
        if usize::try_from(claimed).is_ok_and(|claimed| claimed > packed.len().saturating_mul(most)) {
            let length = packed.len();
            return Err(format!("a buffer of {length} bytes claims to hold {claimed}, but {name} makes at most {most} of each"));
        }
    }
    Ok(())
}
