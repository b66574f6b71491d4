//! What a program prints, as lines that are safe to show: control sequences are interpreted or
//! dropped, colours (SGR) stay. It must not know rows, limits or screens: this is no terminal.
//!
//! A line is text without control characters other than tab, with SGR sequences as written
//! (`ESC [ … m`). A line begins with the colours still on from the line before, so that each can
//! be shown alone.

use std::borrow::Cow;

/// The longest line, in bytes; what is longer goes on in the next line.
pub const LONGEST_LINE: usize = 64 * 1024;

/// Parameters of a sequence longer than this are no sequence.
const LONGEST_SEQUENCE: usize = 128;
/// A title or link that has not ended by then never will.
const LONGEST_TITLE: usize = 4 * 1024;
/// Images travel in these.
const LONGEST_DATA: usize = 4 * 1024 * 1024;
/// Colours kept over a line's end.
const LONGEST_COLOURS: usize = 256;

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After `ESC` and an intermediate byte: one more byte ends it.
    Intermediate,
    Csi(String),
    /// OSC: ends at BEL, ST or, for programs that forget, at the line's end.
    Title(usize),
    /// DCS, APC, PM, SOS: ends at ST.
    Data(usize),
    /// `ESC` within one of the two.
    StringEscape,
}

/// One stream's unfinished line, and where in a control sequence it stands.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    state: State,
    line: String,
    /// The colours on now, as the sequences that set them since the last reset.
    colours: String,
    /// Where text begins that may be erased: after the last colour sequence.
    erasable: usize,
    /// After a carriage return: what comes next overwrites the line, unless it is its end.
    returned: bool,
    /// Whether the line holds anything but colours carried over.
    written: bool,
}

impl Cleaner {
    /// Takes `text`; calls `finished` with each line that it completes, and with whether a line
    /// end did (else the line was too long and goes on).
    pub fn push(&mut self, text: &str, mut finished: impl FnMut(&str, bool)) {
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(self.state, State::Ground) {
                let plain = plain_length(rest.as_bytes());
                let (run, after) = rest.split_at(plain);
                self.print(run, &mut finished);
                rest = after;
            }
            let mut chars = rest.chars();
            if let Some(next) = chars.next() {
                self.step(next, &mut finished);
                rest = chars.as_str();
            }
        }
    }

    /// The unfinished line, `None` when there is none.
    pub fn partial(&self) -> Option<&str> {
        self.written.then_some(self.line.as_str())
    }

    /// Bytes held for the unfinished line.
    pub fn partial_bytes(&self) -> usize {
        if self.written { self.line.len() } else { 0 }
    }

    /// The stream has ended: gives up the unfinished line.
    pub fn finish(&mut self) -> Option<String> {
        let line = self.written.then(|| std::mem::take(&mut self.line));
        *self = Self::default();
        line
    }

    fn print(&mut self, mut run: &str, finished: &mut impl FnMut(&str, bool)) {
        if run.is_empty() {
            return;
        }
        self.overwrite();
        while self.line.len() + run.len() > LONGEST_LINE {
            let mut room = LONGEST_LINE.saturating_sub(self.line.len());
            while !run.is_char_boundary(room) {
                room -= 1;
            }
            let (fits, after) = run.split_at(room);
            self.line.push_str(fits);
            self.end_line(false, finished);
            run = after;
        }
        self.line.push_str(run);
        self.written |= !run.is_empty();
    }

    fn step(&mut self, next: char, finished: &mut impl FnMut(&str, bool)) {
        match std::mem::take(&mut self.state) {
            State::Ground => self.control(next, finished),
            State::Escape => self.state = after_escape(next),
            State::Intermediate => {
                if matches!(next, ' '..='/') {
                    self.state = State::Intermediate;
                }
            }
            State::Csi(parameters) => self.csi(parameters, next, finished),
            State::Title(_) if next == '\n' => self.control(next, finished),
            State::Title(size) | State::Data(size) if next == '\x07' && size <= LONGEST_TITLE => {}
            State::Title(size) => self.in_string(State::Title(size + next.len_utf8()), next),
            State::Data(size) => self.in_string(State::Data(size + next.len_utf8()), next),
            State::StringEscape => {
                if next != '\\' {
                    self.state = after_escape(next);
                }
            }
        }
    }

    fn in_string(&mut self, state: State, next: char) {
        let full = match state {
            State::Title(size) => size > LONGEST_TITLE,
            State::Data(size) => size > LONGEST_DATA,
            _ => true,
        };
        self.state = match next {
            '\x1b' => State::StringEscape,
            // CAN, SUB and the 8-bit ST.
            '\x18' | '\x1a' | '\u{9c}' => State::Ground,
            _ if full => State::Ground,
            _ => state,
        };
    }

    fn control(&mut self, next: char, finished: &mut impl FnMut(&str, bool)) {
        match next {
            '\n' => self.end_line(true, finished),
            '\r' => self.returned = true,
            '\x08' if self.line.len() > self.erasable => {
                self.line.pop();
            }
            '\x1b' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Csi(String::new()),
            '\u{9d}' => self.state = State::Title(0),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.state = State::Data(0),
            '\t' => self.print("\t", finished),
            '\u{a0}'.. => self.print(next.encode_utf8(&mut [0; 4]), finished),
            _ => {}
        }
    }

    fn csi(&mut self, mut parameters: String, next: char, finished: &mut impl FnMut(&str, bool)) {
        match next {
            'm' => self.colour(&parameters),
            // Erase the line, or what is right of the cursor when that is at its start.
            'K' if self.returned || parameters == "2" => {
                self.returned = true;
                self.overwrite();
            }
            '\x1b' => self.state = State::Escape,
            ' '..='?' if parameters.len() < LONGEST_SEQUENCE => {
                parameters.push(next);
                self.state = State::Csi(parameters);
            }
            // A terminal obeys these within a sequence.
            '\n' | '\r' | '\x08' => {
                self.control(next, finished);
                self.state = State::Csi(parameters);
            }
            _ => {}
        }
    }

    fn colour(&mut self, parameters: &str) {
        let plain = parameters
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
        if !plain || self.line.len() > LONGEST_LINE {
            return;
        }
        self.overwrite();
        let is_reset = parameters.bytes().all(|byte| byte == b'0');
        let begin = self.line.len();
        self.line.push_str("\x1b[");
        self.line.push_str(parameters);
        self.line.push('m');
        self.erasable = self.line.len();
        if is_reset {
            self.colours.clear();
        } else if let Some(sequence) = self.line.get(begin..)
            && self.colours.len() + sequence.len() <= LONGEST_COLOURS
        {
            self.colours.push_str(sequence);
        }
        self.written = true;
    }

    fn overwrite(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.begin_line();
        }
    }

    fn begin_line(&mut self) {
        self.line.clear();
        self.line.push_str(&self.colours);
        self.erasable = self.line.len();
        self.returned = false;
        self.written = false;
    }

    fn end_line(&mut self, ended: bool, finished: &mut impl FnMut(&str, bool)) {
        finished(&self.line, ended);
        self.begin_line();
    }
}

fn after_escape(next: char) -> State {
    match next {
        '[' => State::Csi(String::new()),
        ']' => State::Title(0),
        'P' | 'X' | '^' | '_' => State::Data(0),
        ' '..='/' => State::Intermediate,
        '\x1b' => State::Escape,
        _ => State::Ground,
    }
}

/// How many bytes at the start are neither control characters nor could begin one.
fn plain_length(bytes: &[u8]) -> usize {
    // C2 begins the 8-bit controls U+0080–U+009F, and harmless characters as well.
    bytes
        .iter()
        .position(|byte| *byte < b' ' || *byte == 0x7f || *byte == 0xc2)
        .unwrap_or(bytes.len())
}

/// A line without its colours.
pub fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains('\x1b') {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(text: &str) -> Vec<String> {
        let mut cleaner = Cleaner::default();
        let mut lines = Vec::new();
        cleaner.push(text, |line, _| lines.push(line.to_owned()));
        lines.extend(cleaner.finish());
        lines
    }

    #[test]
    fn table() {
        for (text, lines) in [
            ("", &[] as &[&str]),
            ("a\nb", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("\n\n", &["", ""]),
            ("10%\r20%\r100%\n", &["100%"]),
            ("10%\r", &["10%"]),
            ("bar\r\x1b[Kdone\n", &["done"]),
            ("bar\r\x1b[K\n", &[""]),
            ("bar\x1b[2Kx\n", &["x"]),
            ("abc\x08\x08d\n", &["ad"]),
            ("\x08\x08a\n", &["a"]),
            ("\x1b[31mred\x1b[0m\n", &["\x1b[31mred\x1b[0m"]),
            (
                "\x1b[1;38:5:9mx\ny\x1b[m\nz",
                &["\x1b[1;38:5:9mx", "\x1b[1;38:5:9my\x1b[m", "z"],
            ),
            ("\x1b[31mone\rtwo\n", &["\x1b[31mtwo"]),
            ("\x1b[>4;2mx\x1b[?25l\x1b[10;3Hy\n", &["xy"]),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\n", &["ab"]),
            ("\x1b]never ended\nnext\n", &["", "next"]),
            ("\x1bPq#0;2\n~~\x1b\\after\n", &["after"]),
            ("\x1b(Ba\x1b=b\x1b7\n", &["ab"]),
            ("a\x07\0\x7f\tb\n", &["a\tb"]),
            ("x\u{9b}31my\u{85}é\u{a0}z\n", &["x\x1b[31myé\u{a0}z"]),
            ("\x1b[3\x1b[32mx\n", &["\x1b[32mx"]),
        ] {
            assert_eq!(clean(text), lines, "{text:?}");
        }
    }

    #[test]
    fn a_line_without_end_goes_on_in_the_next() {
        let mut cleaner = Cleaner::default();
        let mut got: Vec<(usize, bool)> = Vec::new();
        cleaner.push(&"ß".repeat(LONGEST_LINE), |line, ended| {
            got.push((line.len(), ended));
        });
        cleaner.push("\n", |line, ended| got.push((line.len(), ended)));
        assert!(got.iter().all(|(length, _)| *length <= LONGEST_LINE));
        assert_eq!(
            got.iter().map(|(length, _)| length).sum::<usize>(),
            2 * LONGEST_LINE
        );
        assert_eq!(got.iter().filter(|(_, ended)| *ended).count(), 1);
    }

    #[test]
    fn strings_that_never_end_do_not_swallow_everything() {
        let text = "x".repeat(LONGEST_TITLE + 10);
        let lines = clean(&format!("\x1b]{text}seen"));
        assert!(lines[0].ends_with("seen"));
    }

    #[test]
    fn colours_can_be_taken_off() {
        assert_eq!(without_colours("plain"), "plain");
        assert_eq!(without_colours("\x1b[31mr\x1b[0;1med\x1b[m"), "red");
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives_and_no_control_is_left(
            pieces in prop::collection::vec("[ -~ß\u{80}-\u{9f}\n\r\t\x08\x1b\\[\\]0-9;mKP\\\\\x07]{0,12}", 0..12)
        ) {
            let mut cleaner = Cleaner::default();
            let mut lines = Vec::new();
            for piece in &pieces {
                cleaner.push(piece, |line, _| lines.push(line.to_owned()));
            }
            lines.extend(cleaner.finish());
            prop_assert_eq!(&lines, &clean(&pieces.concat()));
            for line in lines {
                let plain = without_colours(&line);
                prop_assert!(plain.chars().all(|c| c == '\t' || !c.is_control()), "{:?}", line);
            }
        }
    }
}
