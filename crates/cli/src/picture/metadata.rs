//! What a file says about a page besides its samples, kept from input to output.

use std::io::{Read, Seek, Write};
use std::sync::Arc;

use tiff::decoder::Decoder;
use tiff::encoder::{DirectoryEncoder, TiffKind};
use tiff::tags::{ByteOrder, Tag, Type, ValueBuffer};
use tiff::{Directory, TiffResult};

use super::nifti::Header;

/// What a file says about a page besides its samples. It is written to a file of the same format,
/// and left out in others.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Metadata {
    /// Nothing.
    #[default]
    None,
    /// The tags of a page of a TIFF file.
    Tiff(TiffTags),
    /// The header of a NIfTI file, which all its pages share.
    Nifti(Arc<Header>),
    /// The page is part of an array with three axes, or an array of this name in a `.npz` file.
    Array {
        /// Whether the array has three axes.
        is_stack: bool,
        /// The name of the array.
        name: Option<String>,
    },
}

/// The tags of a TIFF page that stay valid for other samples of the same size and type: texts,
/// resolution and position, numbers of pages, and the labels of ImageJ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TiffTags(Vec<(Tag, Type, Vec<u8>)>);

/// Tags that depend on the number of channels, such as the shape in the description of `tifffile`.
const OF_CHANNELS: [Tag; 3] = [Tag::ImageDescription, IMAGEJ_COUNTS, IMAGEJ_METADATA];
/// Tags that are kept in any case. The numbers are those of TIFF 6.0, section 8 and appendix A.
const KEPT: [Tag; 13] = [
    Tag::Unknown(269), // DocumentName
    Tag::Make,
    Tag::Model,
    Tag::XResolution,
    Tag::YResolution,
    Tag::ResolutionUnit,
    Tag::Unknown(285), // PageName
    Tag::Unknown(286), // XPosition
    Tag::Unknown(287), // YPosition
    Tag::Unknown(297), // PageNumber
    Tag::DateTime,
    Tag::Artist,
    Tag::Copyright,
];
/// The lengths and the content of the labels of ImageJ, in the byte order of the file.
const IMAGEJ_COUNTS: Tag = Tag::Unknown(50838);
const IMAGEJ_METADATA: Tag = Tag::Unknown(50839);
/// Largest number of bytes of a tag that is kept.
const MAX_BYTES: u64 = 1 << 24;

impl TiffTags {
    /// Reads the tags of the current page. A tag that cannot be read is left out, and with other
    /// channels so are those that depend on them.
    pub(super) fn read<R: Read + Seek>(decoder: &mut Decoder<R>, same_channels: bool) -> Self {
        let is_native = decoder.byte_order() == ByteOrder::native();
        let of_channels = OF_CHANNELS
            .into_iter()
            .filter(|tag| same_channels && (is_native || *tag == Tag::ImageDescription));
        let mut directory = decoder.image_ifd();
        let read = |tag: Tag| {
            let entry = directory.find_entry(tag)?;
            if entry.count() > MAX_BYTES {
                return None;
            }
            let mut value = ValueBuffer::empty(Type::BYTE);
            directory.find_tag_buf(tag, &mut value).ok()??;
            value.set_byte_order(ByteOrder::native());
            Some((tag, value.data_type(), value.as_bytes().to_vec()))
        };
        Self(
            KEPT.into_iter()
                .chain(of_channels)
                .filter_map(read)
                .collect(),
        )
    }

    /// Writes the tags into the directory of a page.
    pub(super) fn write<W: Write + Seek, K: TiffKind>(
        &self,
        encoder: &mut DirectoryEncoder<'_, W, K>,
    ) -> TiffResult<()> {
        let mut tags = Directory::empty();
        for (tag, kind, bytes) in &self.0 {
            tags.extend([(*tag, encoder.write_entry_bytes(*kind, bytes)?)]);
        }
        encoder.extend_from(&tags);
        Ok(())
    }
}
