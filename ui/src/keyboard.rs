//! Keys and pasted text as the bytes that a terminal would send for them (xterm's way).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The bytes of a key; none for keys that no terminal sends. `application`: the program asked
/// for the other form of the cursor keys.
pub fn encode(key: KeyEvent, application: bool) -> Vec<u8> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let modifier = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(control);
    let mut out = Vec::new();
    match key.code {
        KeyCode::Char(char) => {
            if alt {
                out.push(0x1b);
            }
            match control.then(|| control_byte(char)).flatten() {
                Some(byte) => out.push(byte),
                None => out.extend(char.to_string().bytes()),
            }
        }
        KeyCode::Enter => with_alt(&mut out, alt, b"\r"),
        KeyCode::Tab => out.push(b'\t'),
        KeyCode::BackTab => out.extend(b"\x1b[Z"),
        KeyCode::Backspace => with_alt(&mut out, alt, if control { b"\x08" } else { b"\x7f" }),
        KeyCode::Esc => out.push(0x1b),
        KeyCode::Up => letter(&mut out, b'A', modifier, application),
        KeyCode::Down => letter(&mut out, b'B', modifier, application),
        KeyCode::Right => letter(&mut out, b'C', modifier, application),
        KeyCode::Left => letter(&mut out, b'D', modifier, application),
        KeyCode::End => letter(&mut out, b'F', modifier, application),
        KeyCode::Home => letter(&mut out, b'H', modifier, application),
        KeyCode::F(1) => letter(&mut out, b'P', modifier, true),
        KeyCode::F(2) => letter(&mut out, b'Q', modifier, true),
        KeyCode::F(3) => letter(&mut out, b'R', modifier, true),
        KeyCode::F(4) => letter(&mut out, b'S', modifier, true),
        KeyCode::Insert => number(&mut out, 2, modifier),
        KeyCode::Delete => number(&mut out, 3, modifier),
        KeyCode::PageUp => number(&mut out, 5, modifier),
        KeyCode::PageDown => number(&mut out, 6, modifier),
        KeyCode::F(key @ 5..=12) => {
            const NUMBERS: [u8; 8] = [15, 17, 18, 19, 20, 21, 23, 24];
            if let Some(code) = NUMBERS.get(usize::from(key) - 5) {
                number(&mut out, *code, modifier);
            }
        }
        _ => {}
    }
    out
}

/// The bytes of pasted text, in marks where the program asked for them.
pub fn paste(text: &str, bracketed: bool) -> Vec<u8> {
    // An end mark inside the text would let the rest of it act as keys.
    let text = text
        .replace('\u{1b}', "")
        .replace("\r\n", "\r")
        .replace('\n', "\r");
    if bracketed {
        format!("\u{1b}[200~{text}\u{1b}[201~").into_bytes()
    } else {
        text.into_bytes()
    }
}

fn with_alt(out: &mut Vec<u8>, alt: bool, bytes: &[u8]) {
    if alt {
        out.push(0x1b);
    }
    out.extend(bytes);
}

fn letter(out: &mut Vec<u8>, letter: u8, modifier: u8, application: bool) {
    if modifier > 1 {
        out.extend(format!("\u{1b}[1;{modifier}{}", char::from(letter)).bytes());
    } else {
        out.extend([0x1b, if application { b'O' } else { b'[' }, letter]);
    }
}

fn number(out: &mut Vec<u8>, number: u8, modifier: u8) {
    let text = if modifier > 1 {
        format!("\u{1b}[{number};{modifier}~")
    } else {
        format!("\u{1b}[{number}~")
    };
    out.extend(text.bytes());
}

/// crossterm names the bytes 0x1C–0x1F `Ctrl-4` to `Ctrl-7`.
fn control_byte(char: char) -> Option<u8> {
    match char.to_ascii_lowercase() {
        letter @ 'a'..='z' => Some(letter as u8 - b'a' + 1),
        ' ' | '@' | '2' => Some(0),
        '[' | '3' => Some(0x1b),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' => Some(0x1e),
        '_' | '/' | '7' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_xterm_sends_them() {
        use KeyCode::{Backspace, Char, Delete, Enter, F, Left, Null, Up};
        let none = KeyModifiers::NONE;
        let ctrl = KeyModifiers::CONTROL;
        for (code, modifiers, application, bytes) in [
            (Char('a'), none, false, &b"a"[..]),
            (Char('é'), none, false, "é".as_bytes()),
            (Char('c'), ctrl, false, b"\x03"),
            (Char('D'), ctrl, false, b"\x04"),
            (Char('4'), ctrl, false, b"\x1c"),
            (Char('b'), KeyModifiers::ALT, false, b"\x1bb"),
            (Enter, none, false, b"\r"),
            (Backspace, none, false, b"\x7f"),
            (Up, none, false, b"\x1b[A"),
            (Up, none, true, b"\x1bOA"),
            (Left, ctrl, true, b"\x1b[1;5D"),
            (Delete, none, false, b"\x1b[3~"),
            (F(5), none, false, b"\x1b[15~"),
            (F(12), KeyModifiers::SHIFT, false, b"\x1b[24;2~"),
            (Null, none, false, b""),
        ] {
            assert_eq!(
                encode(KeyEvent::new(code, modifiers), application),
                bytes,
                "{code:?}"
            );
        }
    }

    #[test]
    fn a_paste_cannot_end_itself() {
        assert_eq!(paste("a\nb\r\n", false), b"a\rb\r");
        assert_eq!(
            paste("x\u{1b}[2\u{1b}[201~01~rm", true),
            b"\x1b[200~x[2[201~01~rm\x1b[201~".to_vec()
        );
    }
}
