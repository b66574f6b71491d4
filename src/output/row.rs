//! One row's lines: text in blocks, one word of index a line, the oldest block dropped first. It
//! must not know of other rows, nor how text becomes lines.

use super::StreamKind;
use std::collections::VecDeque;

/// Text of a block, in bytes; a longer line has a block for itself.
const BLOCK: usize = 64 * 1024;

const END_BITS: u32 = 27;
const END_MASK: u32 = (1 << END_BITS) - 1;
const ENDED: u32 = 1 << 31;

#[derive(Debug)]
struct Block {
    first_line: u64,
    text: String,
    /// A line each: where its text ends, its stream, whether a line end followed.
    lines: Vec<u32>,
}

/// A stretch of lines whose sequence numbers follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    first_line: u64,
    first_sequence: u64,
}

/// The kept lines of one row.
#[derive(Debug)]
pub(super) struct RowLines {
    blocks: VecDeque<Block>,
    runs: VecDeque<Run>,
    block_bytes: usize,
    next_line: u64,
    /// Bytes kept, line ends included.
    pub bytes: usize,
    pub dropped_bytes: u64,
    pub dropped_lines: u64,
}

/// A line as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored<'a> {
    pub number: u64,
    pub sequence: u64,
    pub stream: StreamKind,
    pub text: &'a str,
    pub ended: bool,
}

impl RowLines {
    /// `limit`: how many bytes will be kept, to size the blocks.
    pub fn new(limit: usize) -> Self {
        Self {
            blocks: VecDeque::new(),
            runs: VecDeque::new(),
            block_bytes: BLOCK.min(limit / 16).max(1),
            next_line: 0,
            bytes: 0,
            dropped_bytes: 0,
            dropped_lines: 0,
        }
    }

    /// The number of the first kept line.
    pub fn first_line(&self) -> u64 {
        self.blocks
            .front()
            .map_or(self.next_line, |block| block.first_line)
    }

    /// The number that the next line will have: lines ever written.
    pub fn next_line(&self) -> u64 {
        self.next_line
    }

    /// `follows`: whether the line before in sequence was this row's too.
    pub fn push(
        &mut self,
        stream: StreamKind,
        text: &str,
        ended: bool,
        sequence: u64,
        follows: bool,
    ) {
        let full = self.blocks.back().is_none_or(|block| {
            block.text.len() + text.len() > self.block_bytes
                || block.lines.len() >= self.block_bytes
        });
        if full {
            if let Some(last) = self.blocks.back_mut() {
                last.text.shrink_to_fit();
                last.lines.shrink_to_fit();
            }
            let first_line = self.next_line;
            self.blocks.push_back(Block {
                first_line,
                text: String::new(),
                lines: Vec::new(),
            });
        }
        if !follows {
            self.runs.push_back(Run {
                first_line: self.next_line,
                first_sequence: sequence,
            });
        }
        if let Some(block) = self.blocks.back_mut() {
            block.text.push_str(text);
            block.lines.push(pack(block.text.len(), stream, ended));
        }
        self.bytes += text.len() + usize::from(ended);
        self.next_line += 1;
    }

    /// Drops the oldest block. Returns the bytes freed and how many runs have no line left.
    pub fn drop_oldest(&mut self) -> (usize, usize) {
        let Some(block) = self.blocks.pop_front() else {
            return (0, 0);
        };
        let ends = block
            .lines
            .iter()
            .filter(|line| **line & ENDED != 0)
            .count();
        let bytes = block.text.len() + ends;
        self.bytes -= bytes;
        self.dropped_bytes += bytes as u64;
        self.dropped_lines += block.lines.len() as u64;
        let first = self.first_line();
        let mut dead = 0;
        while self
            .runs
            .get(1)
            .is_some_and(|second| second.first_line <= first)
        {
            self.runs.pop_front();
            dead += 1;
        }
        (bytes, dead)
    }

    /// How many stretches of lines with sequence numbers in a row there are.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// The line with this number, when it is kept.
    pub fn line(&self, number: u64) -> Option<Stored<'_>> {
        let place = self
            .blocks
            .partition_point(|block| block.first_line <= number)
            .checked_sub(1)?;
        let block = self.blocks.get(place)?;
        let index = usize::try_from(number - block.first_line).ok()?;
        let packed = *block.lines.get(index)?;
        let begin = match index.checked_sub(1) {
            Some(before) => end_of(*block.lines.get(before)?),
            None => 0,
        };
        let run = self
            .runs
            .partition_point(|run| run.first_line <= number)
            .checked_sub(1)?;
        let run = self.runs.get(run)?;
        Some(Stored {
            number,
            sequence: run.first_sequence + (number - run.first_line),
            stream: stream_of(packed),
            text: block.text.get(begin..end_of(packed))?,
            ended: packed & ENDED != 0,
        })
    }
}

fn pack(end: usize, stream: StreamKind, ended: bool) -> u32 {
    let stream = match stream {
        StreamKind::Stdout => 0,
        StreamKind::Stderr => 1,
        StreamKind::Terminal => 2,
        StreamKind::Console => 3,
    };
    (end as u32 & END_MASK) | (stream << END_BITS) | if ended { ENDED } else { 0 }
}

fn end_of(packed: u32) -> usize {
    (packed & END_MASK) as usize
}

fn stream_of(packed: u32) -> StreamKind {
    match (packed >> END_BITS) & 3 {
        0 => StreamKind::Stdout,
        1 => StreamKind::Stderr,
        2 => StreamKind::Terminal,
        _ => StreamKind::Console,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_packed_with_all_it_says() {
        let kinds = [
            StreamKind::Stdout,
            StreamKind::Stderr,
            StreamKind::Terminal,
            StreamKind::Console,
        ];
        for stream in kinds {
            for ended in [false, true] {
                let packed = pack(70_000, stream, ended);
                assert_eq!(end_of(packed), 70_000);
                assert_eq!(stream_of(packed), stream);
                assert_eq!(packed & ENDED != 0, ended);
            }
        }
    }

    #[test]
    fn numbers_go_on_when_everything_was_dropped() {
        let mut row = RowLines::new(64);
        row.push(StreamKind::Stdout, "one", true, 0, false);
        row.push(StreamKind::Stderr, "two", false, 5, false);
        assert_eq!(row.line(1).unwrap().sequence, 5);
        assert_eq!(row.drop_oldest().0, 4);
        assert_eq!(row.line(0), None);
        assert_eq!(row.line(1).unwrap().text, "two");
        row.drop_oldest();
        assert_eq!((row.bytes, row.dropped_bytes, row.dropped_lines), (0, 7, 2));
        assert_eq!((row.first_line(), row.next_line()), (2, 2));
        row.push(StreamKind::Stdout, "x", true, 6, true);
        assert_eq!(row.line(2).unwrap().sequence, 6);
        assert_eq!(row.line(3), None);
    }
}
