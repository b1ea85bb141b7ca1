//! The objects of an HDF5 file: its groups and datasets, and the messages that describe them.

use super::{Cursor, Defect, Result};

/// The first bytes of every file.
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";
/// A position that is not set.
pub(super) const UNDEFINED: u64 = u64::MAX;
/// Largest number of messages of an object, and of objects in a file.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_OBJECTS: usize = 1 << 14;
/// Largest number of groups inside each other.
const MAX_DEPTH: usize = 32;

/// Kinds of messages.
pub(super) const DATASPACE: u64 = 0x1;
pub(super) const DATATYPE: u64 = 0x3;
pub(super) const LAYOUT: u64 = 0x8;
pub(super) const FILTERS: u64 = 0xB;
const LINK_INFO: u64 = 0x2;
const LINK: u64 = 0x6;
const CONTINUATION: u64 = 0x10;
const SYMBOL_TABLE: u64 = 0x11;

/// A file in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Objects<'a>(&'a [u8]);

/// A part of the description of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) kind: u64,
    /// Whether the message is stored elsewhere.
    pub(super) is_shared: bool,
    pub(super) body: Cursor<'a>,
}

impl<'a> Objects<'a> {
    /// Checks the first block of a file, and returns the file with the position of its first group.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Self, u64)> {
        if bytes.is_empty() {
            return Err(Defect::damaged("it is empty"));
        }
        // The file may begin with data of its user, whose length is a power of two.
        let mut starts = std::iter::successors(Some(0), |start| match start {
            0 => Some(512_usize),
            start => start.checked_mul(2),
        })
        .take_while(|start| *start < bytes.len());
        let Some(start) = starts.find(|start| bytes[*start..].starts_with(SIGNATURE)) else {
            return Err(Defect::unsupported(
                "its content is not that of an HDF5 file",
            ));
        };
        let objects = Self(&bytes[start..]);
        let mut block = Cursor(&bytes[start + SIGNATURE.len()..]);
        let version = block.byte()?;
        let sizes = match version {
            0 | 1 => block.take(6)?[4..].to_vec(),
            2 | 3 => block.take(2)?.to_vec(),
            _ => {
                let reason = format!("version {version} of its first block is unknown");
                return Err(Defect::unsupported(reason));
            }
        };
        if sizes != [8, 8] {
            return Err(Defect::unsupported("its positions do not have 64 bits"));
        }
        // Ranks of trees and flags.
        block.take(match version {
            0 => 9,
            1 => 13,
            _ => 1,
        })?;
        let (_base, _other, end) = (block.number(8)?, block.number(8)?, block.number(8)?);
        if end > bytes.len() as u64 && end != UNDEFINED {
            let reason = format!("it should have {end} bytes, but has {}", bytes.len());
            return Err(Defect::damaged(reason));
        }
        if version < 2 {
            // The driver's block, and the name of the first group.
            block.take(16)?;
        }
        Ok((objects, block.number(8)?))
    }

    /// The number of bytes of the file.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes from a position on.
    pub(super) fn from(&self, address: u64) -> Result<Cursor<'a>> {
        let start = usize::try_from(address).ok();
        let rest = start.and_then(|start| self.0.get(start..));
        let outside = || Defect::damaged(format!("position {address} is behind its end"));
        rest.map(Cursor).ok_or_else(outside)
    }

    /// Returns all messages of the object at a position.
    pub(super) fn messages(&self, address: u64) -> Result<Vec<Message<'a>>> {
        let mut start = self.from(address)?;
        let is_new = start.0.starts_with(b"OHDR");
        let mut has_order = false;
        let mut blocks = Vec::new();
        if is_new {
            start.take(4)?;
            let (_version, flags) = (start.byte()?, start.byte()?);
            has_order = flags & 0x4 != 0;
            start.take(if flags & 0x20 == 0 { 0 } else { 16 })?;
            start.take(if flags & 0x10 == 0 { 0 } else { 4 })?;
            let len = start.length(1 << (flags & 0x3))?;
            blocks.push(Cursor(start.take(len)?));
        } else {
            let version = start.byte()?;
            if version != 1 {
                let reason = format!("version {version} of an object is unknown");
                return Err(Defect::damaged(reason));
            }
            start.take(7)?;
            let len = start.length(4)?;
            start.take(4)?;
            blocks.push(Cursor(start.take(len)?));
        }
        let mut messages = Vec::new();
        let header_len = match (is_new, has_order) {
            (false, _) => 8,
            (true, false) => 4,
            (true, true) => 6,
        };
        while let Some(mut block) = blocks.pop() {
            while block.0.len() >= header_len {
                let kind = block.number(if is_new { 1 } else { 2 })?;
                let len = block.length(2)?;
                let flags = block.byte()?;
                block.take(header_len - if is_new { 4 } else { 5 })?;
                let mut body = Cursor(block.take(len)?);
                if messages.len() + blocks.len() >= MAX_MESSAGES {
                    return Err(Defect::damaged("an object has too many messages"));
                }
                messages.push(Message {
                    kind,
                    is_shared: flags & 0x2 != 0,
                    body,
                });
                if kind == CONTINUATION {
                    let (address, len) = (body.number(8)?, body.length(8)?);
                    let mut next = Cursor(self.from(address)?.take(len)?);
                    if is_new {
                        next.signature(b"OCHK")?;
                        // A checksum is at the end.
                        let len = next.0.len().saturating_sub(4);
                        next = Cursor(next.take(len)?);
                    }
                    blocks.push(next);
                }
            }
        }
        Ok(messages)
    }

    /// Returns the names and positions of all datasets, group by group.
    pub(super) fn datasets(&self, root: u64) -> Result<Vec<(String, u64)>> {
        let mut datasets = Vec::new();
        let mut open = vec![(String::new(), root, 0)];
        let mut num_objects = 0;
        while let Some((name, address, depth)) = open.pop() {
            num_objects += 1;
            if num_objects > MAX_OBJECTS || depth > MAX_DEPTH {
                return Err(Defect::damaged("it has too many groups"));
            }
            let messages = self.messages(address)?;
            if messages.iter().any(|message| message.kind == LAYOUT) {
                datasets.push((name, address));
                continue;
            }
            for (link, address) in self.links(&messages)? {
                let inner = match name.is_empty() {
                    true => link,
                    false => format!("{name}/{link}"),
                };
                open.push((inner, address, depth + 1));
            }
        }
        datasets.sort();
        Ok(datasets)
    }

    /// Returns the names and positions of the objects in a group.
    fn links(&self, messages: &[Message<'a>]) -> Result<Vec<(String, u64)>> {
        let mut links = Vec::new();
        for message in messages {
            let mut body = message.body;
            match message.kind {
                SYMBOL_TABLE => {
                    let (tree, heap) = (body.number(8)?, body.number(8)?);
                    let mut heap = self.from(heap)?;
                    heap.signature(b"HEAP")?;
                    heap.take(4)?;
                    let (len, _free) = (heap.length(8)?, heap.number(8)?);
                    let names = Cursor(self.from(heap.number(8)?)?.take(len)?);
                    for node in self.tree_leaves(tree, 0, 8)? {
                        self.symbols(node.child, names, &mut links)?;
                    }
                }
                LINK_INFO => {
                    let (_version, flags) = (body.byte()?, body.byte()?);
                    body.take(if flags & 0x1 == 0 { 0 } else { 8 })?;
                    if body.number(8)? != UNDEFINED {
                        let reason = "a group keeps its names in a heap, because it has many";
                        return Err(Defect::unsupported(reason));
                    }
                }
                LINK => links.extend(link(body)?),
                _ => {}
            }
        }
        Ok(links)
    }

    /// Adds the entries of one node of a group of the old kind.
    fn symbols(
        &self,
        address: u64,
        names: Cursor<'a>,
        links: &mut Vec<(String, u64)>,
    ) -> Result<()> {
        let mut node = self.from(address)?;
        node.signature(b"SNOD")?;
        node.take(2)?;
        for _ in 0..node.length(2)? {
            let (name, object, cached) = (node.length(8)?, node.number(8)?, node.number(4)?);
            node.take(20)?;
            // A symbolic link, which names another object.
            if cached == 2 {
                continue;
            }
            let mut names = names;
            names.take(name)?;
            links.push((String::from_utf8_lossy(names.text()?).into_owned(), object));
        }
        if links.len() > MAX_OBJECTS {
            return Err(Defect::damaged("a group has too many objects"));
        }
        Ok(())
    }

    /// Returns the leaves of a tree of the first version, with keys of `key_len` bytes.
    pub(super) fn tree_leaves(&self, root: u64, kind: u8, key_len: usize) -> Result<Vec<Leaf<'a>>> {
        let mut leaves = Vec::new();
        if root == UNDEFINED {
            return Ok(leaves);
        }
        // Each entry of the tree takes this many bytes of the file, so there are not more.
        let max_entries = self.len() / (key_len + 8);
        let mut num_entries = 0;
        let mut open = vec![(root, None)];
        while let Some((address, expected)) = open.pop() {
            let mut node = self.from(address)?;
            node.signature(b"TREE")?;
            let (found, level, len) = (node.byte()?, node.byte()?, node.length(2)?);
            if found != kind || expected.is_some_and(|expected| expected != level) {
                return Err(Defect::damaged("a tree has a node of another kind"));
            }
            num_entries += len + 1;
            if num_entries > 2 * max_entries + 2 {
                return Err(Defect::damaged("a tree has more entries than the file"));
            }
            node.take(16)?;
            for _ in 0..len {
                let (key, child) = (Cursor(node.take(key_len)?), node.number(8)?);
                match level.checked_sub(1) {
                    None => leaves.push(Leaf { key, child }),
                    Some(below) => open.push((child, Some(below))),
                }
            }
        }
        Ok(leaves)
    }
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'a> {
    pub(super) key: Cursor<'a>,
    pub(super) child: u64,
}

/// Returns the name and position of a link of the new kind; `None` for a symbolic one.
fn link(mut body: Cursor<'_>) -> Result<Option<(String, u64)>> {
    let (_version, flags) = (body.byte()?, body.byte()?);
    let is_hard = flags & 0x8 == 0 || body.byte()? == 0;
    body.take(if flags & 0x4 == 0 { 0 } else { 8 })?;
    body.take(if flags & 0x10 == 0 { 0 } else { 1 })?;
    let len = body.length(1 << (flags & 0x3))?;
    let name = String::from_utf8_lossy(body.take(len)?).into_owned();
    Ok(match is_hard {
        true => Some((name, body.number(8)?)),
        false => None,
    })
}
