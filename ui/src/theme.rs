//! The colours of the front end: a built-in set that sixteen colours are enough for, and patches
//! over it. It must not know of files: who reads a theme hands its entries to [`Theme::patch`].

use crate::highlight::Token;
use daptree_model::RowId;
use ratatui::style::{Color, Modifier, Style};

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $style:expr;)*) => {
        /// One style for each role that the views name.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Theme {
            $($(#[$doc])* pub $name: Style,)*
        }

        impl Default for Theme {
            fn default() -> Self {
                Self { $($name: $style,)* }
            }
        }

        impl Theme {
            /// The names that a theme may set.
            pub const ROLES: &'static [&'static str] = &[$(stringify!($name),)*];

            fn role(&mut self, name: &str) -> Option<&mut Style> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

const fn fg(color: Color) -> Style {
    Style::new().fg(color)
}

roles! {
    /// Ordinary text.
    text = Style::new();
    /// What matters less: helpers, unfollowed rows, values of an earlier stop.
    dim = fg(Color::DarkGray);
    /// Title of a pane.
    title = Style::new();
    /// Title of the pane that has the keyboard.
    title_focused = fg(Color::Cyan).add_modifier(Modifier::BOLD);
    /// Line over a pane.
    rule = fg(Color::DarkGray);
    /// Line over the pane that has the keyboard.
    rule_focused = fg(Color::Cyan);
    /// Selected row of the pane that has the keyboard.
    selected = Style::new().add_modifier(Modifier::REVERSED);
    /// Selected row of another pane.
    selected_idle = Style::new().add_modifier(Modifier::BOLD);
    /// A session that stands at a stop.
    stopped = fg(Color::Yellow).add_modifier(Modifier::BOLD);
    /// A session that runs.
    running = fg(Color::Green);
    /// A process that ended well.
    ended = fg(Color::DarkGray);
    /// A process that ended badly, a broken connection.
    failed = fg(Color::Red);
    /// A session that is being set up.
    starting = fg(Color::Blue);
    /// Line numbers.
    line_number = fg(Color::DarkGray);
    /// The line at which the focus session stands.
    current_line = Style::new().fg(Color::Black).bg(Color::Yellow);
    /// The line of a frame further up.
    frame_line = Style::new().fg(Color::Black).bg(Color::Cyan);
    /// Number of the line under the cursor.
    cursor_line = Style::new().add_modifier(Modifier::REVERSED);
    /// A breakpoint in place.
    breakpoint = fg(Color::Red).add_modifier(Modifier::BOLD);
    /// A breakpoint that is off, pending or refused.
    breakpoint_off = fg(Color::DarkGray);
    /// Where another session stands.
    other_stop = fg(Color::Magenta);
    /// Name of a variable or scope.
    name = fg(Color::Cyan);
    /// Type of a value.
    type_name = fg(Color::DarkGray);
    /// A value that changed since the last stop.
    changed = fg(Color::Yellow).add_modifier(Modifier::BOLD);
    /// Output on stderr.
    stderr = fg(Color::Red);
    /// Words of the adapter or of daptree among the output.
    console = fg(Color::Blue);
    /// A match of the search.
    found = Style::new().fg(Color::Black).bg(Color::Green);
    /// The line that says what has the focus.
    status = Style::new().add_modifier(Modifier::REVERSED);
    /// A key in a hint.
    key = Style::new().add_modifier(Modifier::BOLD);
    /// What a key does.
    hint = fg(Color::DarkGray);
    /// A message.
    message = fg(Color::Yellow);
    /// A message of something that failed.
    error = Style::new().fg(Color::White).bg(Color::Red);
    /// The status line while the keyboard belongs to the program.
    locked = Style::new().fg(Color::Black).bg(Color::Magenta);
    /// Keywords of the source.
    keyword = fg(Color::Magenta);
    /// Strings of the source.
    string = fg(Color::Green);
    /// Comments of the source.
    comment = fg(Color::DarkGray);
    /// Numbers and constants of the source.
    constant = fg(Color::Yellow);
    /// Names of functions in the source.
    function = fg(Color::Blue);
    /// Names of types in the source.
    type_ = fg(Color::Cyan);
}

/// An entry of a theme that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// There is no such role.
    #[error("theme: there is no role `{0}`; the roles are {list}", list = Theme::ROLES.join(", "))]
    UnknownRole(String),
    /// The style cannot be read.
    #[error(
        "theme: `{word}` in `{role} = \"{style}\"` is neither a colour (yellow, #ffcc00, 178) nor \
         bold, dim, italic, underlined, reversed or `on COLOUR`"
    )]
    BadStyle {
        /// The role.
        role: String,
        /// Its style as written.
        style: String,
        /// The word that is not understood.
        word: String,
    },
}

impl Theme {
    /// Replaces the style of a role by words such as `bold yellow on blue`.
    pub fn patch(&mut self, role: &str, style: &str) -> Result<(), ThemeError> {
        let bad = |word: &str| ThemeError::BadStyle {
            role: role.to_owned(),
            style: style.to_owned(),
            word: word.to_owned(),
        };
        let mut made = Style::new();
        let mut words = style.split_whitespace();
        while let Some(word) = words.next() {
            made = match word {
                "bold" => made.add_modifier(Modifier::BOLD),
                "dim" => made.add_modifier(Modifier::DIM),
                "italic" => made.add_modifier(Modifier::ITALIC),
                "underlined" => made.add_modifier(Modifier::UNDERLINED),
                "reversed" => made.add_modifier(Modifier::REVERSED),
                "on" => {
                    let color = words.next().ok_or_else(|| bad(word))?;
                    made.bg(color.parse().map_err(|_| bad(color))?)
                }
                color => made.fg(color.parse().map_err(|_| bad(color))?),
            };
        }
        let slot = self
            .role(role)
            .ok_or_else(|| ThemeError::UnknownRole(role.to_owned()))?;
        *slot = made;
        Ok(())
    }

    /// The colour that stands for a session wherever its name is shown among others.
    pub fn session(row: RowId) -> Style {
        const COLORS: [Color; 6] = [
            Color::Cyan,
            Color::Yellow,
            Color::Green,
            Color::Magenta,
            Color::Blue,
            Color::LightRed,
        ];
        let color = COLORS.get(row.0 as usize % COLORS.len());
        fg(color.copied().unwrap_or(Color::Reset))
    }

    /// The style of a piece of source.
    pub fn token(&self, token: Token) -> Style {
        match token {
            Token::Plain => self.text,
            Token::Keyword => self.keyword,
            Token::String => self.string,
            Token::Comment => self.comment,
            Token::Constant => self.constant,
            Token::Function => self.function,
            Token::Type => self.type_,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_replaces_one_role() {
        let mut theme = Theme::default();
        theme
            .patch("current_line", "bold #102030 on yellow")
            .unwrap();
        assert_eq!(
            theme.current_line,
            Style::new()
                .fg(Color::Rgb(0x10, 0x20, 0x30))
                .bg(Color::Yellow)
                .add_modifier(Modifier::BOLD)
        );
        let same = Theme {
            current_line: theme.current_line,
            ..Theme::default()
        };
        assert_eq!(theme, same);
    }

    #[test]
    fn bad_entries_say_what_is_wrong() {
        let mut theme = Theme::default();
        let error = theme.patch("curent_line", "red").unwrap_err().to_string();
        assert!(error.contains("`curent_line`") && error.contains("current_line"));
        let error = theme.patch("dim", "bold rad").unwrap_err().to_string();
        assert!(error.contains("`rad`"), "{error}");
        assert!(theme.patch("dim", "on").is_err());
        assert_eq!(theme, Theme::default());
    }

    #[test]
    fn the_themes_of_the_repository_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../themes");
        let mut read = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let mut theme = Theme::default();
            for line in text
                .lines()
                .filter(|l| !l.is_empty() && !l.starts_with('#'))
            {
                let (role, style) = line.split_once(" = ").unwrap();
                theme.patch(role, style.trim_matches('"')).unwrap();
            }
            assert_ne!(theme, Theme::default());
            read += 1;
        }
        assert!(read >= 2);
    }
}
