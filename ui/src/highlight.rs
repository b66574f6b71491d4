//! Syntax colours, worked out on a thread of their own: a request names a source, its revision
//! and how far it is looked at; results come back block by block. It knows kinds of tokens, not
//! colours, and nothing of panes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, mpsc};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Larger texts stay plain, in bytes.
pub const PLAIN_ABOVE: usize = 2 << 20;
/// Longer lines stay plain, in bytes.
const PLAIN_LINE: usize = 2_048;
/// Lines parsed at a time; the parser's state is kept at each such border.
pub const BLOCK: usize = 200;
/// A look so far past what is parsed gets approximate colours first.
const JUMP: usize = 5 * BLOCK;

/// What a piece of source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Token {
    /// Nothing of the others.
    #[default]
    Plain,
    /// A keyword or storage word.
    Keyword,
    /// A string.
    String,
    /// A comment.
    Comment,
    /// A number or constant.
    Constant,
    /// A function's name.
    Function,
    /// A type's name.
    Type,
}

/// The pieces of a line: length in bytes and kind, in order.
pub type Pieces = Arc<[(u32, Token)]>;

/// What to colour.
#[derive(Clone, Debug)]
pub struct Request {
    /// The source, as the asker names it.
    pub key: String,
    /// Which text of that source; a result carries it back.
    pub revision: u64,
    /// The text.
    pub text: Arc<str>,
    /// The first line looked at, from 0.
    pub from: usize,
    /// The line after the last one looked at.
    pub to: usize,
}

/// Colours of some lines.
#[derive(Clone, Debug)]
pub struct Coloured {
    /// The source.
    pub key: String,
    /// Of which text.
    pub revision: u64,
    /// The first line, from 0.
    pub from: usize,
    /// The lines' pieces.
    pub lines: Vec<Pieces>,
    /// Parsed from the start of the text, not guessed from the middle.
    pub exact: bool,
}

/// Starts the worker. It ends when the sender is dropped; `done` gets each result and says
/// whether anybody still listens.
pub fn start(
    mut done: impl FnMut(Coloured) -> bool + Send + 'static,
) -> std::io::Result<mpsc::Sender<Request>> {
    let (sender, requests) = mpsc::channel::<Request>();
    std::thread::Builder::new()
        .name("highlight".to_owned())
        .spawn(move || {
            let syntaxes = SyntaxSet::load_defaults_newlines();
            let mut texts: HashMap<String, Progress> = HashMap::new();
            while let Ok(first) = requests.recv() {
                let mut request = first;
                while let Ok(newer) = requests.try_recv() {
                    request = newer;
                }
                if !serve(&syntaxes, &mut texts, &request, &mut done) {
                    return;
                }
            }
        })?;
    Ok(sender)
}

struct Progress {
    revision: u64,
    syntax: String,
    parsed: usize,
    offset: usize,
    state: (ParseState, ScopeStack),
}

fn serve(
    syntaxes: &SyntaxSet,
    texts: &mut HashMap<String, Progress>,
    request: &Request,
    done: &mut impl FnMut(Coloured) -> bool,
) -> bool {
    let text: &str = &request.text;
    if text.len() > PLAIN_ABOVE {
        return true;
    }
    if texts
        .get(&request.key)
        .is_none_or(|p| p.revision != request.revision)
    {
        let syntax = syntax_of(syntaxes, &request.key, text);
        texts.insert(
            request.key.clone(),
            Progress {
                revision: request.revision,
                syntax: syntax.name.clone(),
                parsed: 0,
                offset: 0,
                state: (ParseState::new(syntax), ScopeStack::new()),
            },
        );
    }
    let Some(progress) = texts.get_mut(&request.key) else {
        return true;
    };
    let coloured = |from, lines, exact| Coloured {
        key: request.key.clone(),
        revision: request.revision,
        from,
        lines,
        exact,
    };
    if request.from > progress.parsed + JUMP
        && let Some(syntax) = syntaxes.find_syntax_by_name(&progress.syntax)
    {
        let mut state = (ParseState::new(syntax), ScopeStack::new());
        let offset = text
            .split_inclusive('\n')
            .take(request.from)
            .map(str::len)
            .sum();
        let count = request.to.saturating_sub(request.from);
        let (lines, _) = colour(syntaxes, text, offset, count, &mut state);
        if !done(coloured(request.from, lines, false)) {
            return false;
        }
    }
    while progress.parsed < request.to {
        let from = progress.parsed;
        let (lines, offset) = colour(syntaxes, text, progress.offset, BLOCK, &mut progress.state);
        if lines.is_empty() {
            break;
        }
        progress.parsed += lines.len();
        progress.offset = offset;
        if !done(coloured(from, lines, true)) {
            return false;
        }
    }
    true
}

/// Colours `count` lines from a byte offset on; gives the offset after them.
fn colour(
    syntaxes: &SyntaxSet,
    text: &str,
    offset: usize,
    count: usize,
    state: &mut (ParseState, ScopeStack),
) -> (Vec<Pieces>, usize) {
    let mut end = offset;
    let rest = text.get(offset..).unwrap_or_default();
    let lines = rest
        .split_inclusive('\n')
        .take(count)
        .map(|line| {
            end += line.len();
            pieces(syntaxes, line, state)
        })
        .collect();
    (lines, end)
}

fn pieces(syntaxes: &SyntaxSet, line: &str, state: &mut (ParseState, ScopeStack)) -> Pieces {
    if line.len() > PLAIN_LINE {
        return Arc::from([]);
    }
    let (parser, scopes) = state;
    let Ok(ops) = parser.parse_line(line, syntaxes) else {
        return Arc::from([]);
    };
    let mut out: Vec<(u32, Token)> = Vec::new();
    let mut push = |length: usize, token: Token| {
        if length == 0 {
            return;
        }
        match out.last_mut() {
            Some(last) if last.1 == token => last.0 += length as u32,
            _ => out.push((length as u32, token)),
        }
    };
    let mut at = 0;
    for (position, op) in ops {
        push(position.saturating_sub(at), kind(scopes));
        at = at.max(position);
        if scopes.apply(&op).is_err() {
            return Arc::from([]);
        }
    }
    let visible = line.trim_end_matches(['\n', '\r']).len();
    push(visible.saturating_sub(at), kind(scopes));
    Arc::from(out)
}

fn kind(scopes: &ScopeStack) -> Token {
    static KINDS: LazyLock<Vec<(Scope, Token)>> = LazyLock::new(|| {
        [
            ("comment", Token::Comment),
            ("string", Token::String),
            ("constant.character", Token::String),
            ("constant", Token::Constant),
            ("keyword.operator.logical", Token::Keyword),
            ("keyword.operator", Token::Plain),
            ("keyword", Token::Keyword),
            ("storage.type.function", Token::Keyword),
            ("storage", Token::Keyword),
            ("variable.language", Token::Keyword),
            ("entity.name.function", Token::Function),
            ("support.function", Token::Function),
            ("variable.function", Token::Function),
            ("variable.annotation", Token::Function),
            ("entity.name", Token::Type),
            ("support.type", Token::Type),
            ("support.class", Token::Type),
            ("entity.other.inherited-class", Token::Type),
        ]
        .into_iter()
        .filter_map(|(name, token)| Some((Scope::new(name).ok()?, token)))
        .collect()
    });
    scopes
        .as_slice()
        .iter()
        .rev()
        .find_map(|scope| {
            let found = KINDS.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
            found.map(|(_, token)| *token)
        })
        .unwrap_or_default()
}

fn syntax_of<'a>(syntaxes: &'a SyntaxSet, key: &str, text: &str) -> &'a SyntaxReference {
    let name = key.rsplit('/').next().unwrap_or(key);
    let extension = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "pyi" | "pyw" => "py",
        "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx" => "js",
        other => other,
    };
    syntaxes
        .find_syntax_by_extension(extension)
        .or_else(|| syntaxes.find_syntax_by_first_line(text))
        .unwrap_or_else(|| syntaxes.find_syntax_plain_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(requests: Vec<Request>) -> Vec<Coloured> {
        let (out, results) = mpsc::channel();
        let worker = start(move |coloured| out.send(coloured).is_ok()).unwrap();
        let mut all = Vec::new();
        for request in requests {
            let to = request.to.min(request.text.lines().count());
            worker.send(request).unwrap();
            loop {
                let result = results
                    .recv_timeout(std::time::Duration::from_secs(20))
                    .unwrap();
                let end = result.from + result.lines.len();
                let last = result.exact && end >= to;
                all.push(result);
                if last {
                    break;
                }
            }
        }
        drop(worker);
        assert!(
            results.recv().is_err(),
            "nothing more comes and the worker ends"
        );
        all
    }

    fn request(text: &str, from: usize, to: usize) -> Request {
        Request {
            key: "/x/a.py".to_owned(),
            revision: 1,
            text: text.into(),
            from,
            to,
        }
    }

    #[test]
    fn python_gets_its_kinds() {
        let all = run(vec![request("def f():  # c\n    return 'x' + 1\n", 0, 2)]);
        let lines = &all[0].lines;
        assert_eq!(lines[0][0], (3, Token::Keyword));
        assert!(lines[0].contains(&(1, Token::Function)));
        assert_eq!(lines[0].last().unwrap().1, Token::Comment);
        assert!(lines[1].contains(&(3, Token::String)));
        assert_eq!(lines[1].last().unwrap(), &(1, Token::Constant));
    }

    #[test]
    fn state_goes_on_over_blocks_and_far_looks_come_first() {
        let mut text = String::from("\"\"\"\n");
        text.push_str(&"words\n".repeat(3_000));
        let all = run(vec![request(&text, 0, 50), request(&text, 2_500, 2_550)]);
        assert!(all[0].exact && all[0].from == 0 && all[0].lines.len() == BLOCK);
        assert!(!all[1].exact && all[1].from == 2_500 && all[1].lines.len() == 50);
        let last = all.last().unwrap();
        assert!(last.exact);
        assert_eq!(
            last.lines[10][0].1,
            Token::Comment,
            "still in the docstring"
        );
        assert_ne!(all[1].lines[10].first().map(|p| p.1), Some(Token::Comment));
    }

    #[test]
    fn long_lines_stay_plain() {
        let text = format!("x = 1\ny = '{}'\nz = 2\n", "a".repeat(5_000));
        let all = run(vec![request(&text, 0, 3)]);
        assert!(all[0].lines[1].is_empty());
        assert!(!all[0].lines[2].is_empty());
    }
}
