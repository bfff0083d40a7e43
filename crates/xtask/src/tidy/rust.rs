//! A Rust file as tokens: its functions, its unsafe code and the macros it calls.
//!
//! Tokens, not a syntax tree: they also show what stands inside macros (`proptest! { … }`,
//! `assert!(unsafe { … })`), and strings and comments can't be mistaken for code.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::str::FromStr;

/// The word for an `unsafe` that opens a function: its caller has to give the reason, it has none.
pub(super) const UNSAFE_FUNCTION: &str = "unsafe fn";

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name behind those of the modules, traits and impls around it, such as
    /// `tests::Display for Bytes::fmt`.
    pub(super) name: String,
    /// The line of its `fn`.
    pub(super) line: usize,
    /// From its `fn` to its closing brace, both counted.
    pub(super) lines: usize,
}

/// A word that a rule looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The keyword, or the macro's name with its `!`.
    pub(super) text: String,
    /// Its line.
    pub(super) line: usize,
    /// Whether it stands under `#[test]` or `#[cfg(test)]`.
    pub(super) in_test: bool,
}

/// What the rules want to know of a file.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) functions: Vec<Function>,
    /// Every `unsafe` that opens a block, a function, a trait or an impl.
    pub(super) unsafes: Vec<Word>,
    /// Every macro called.
    pub(super) macros: Vec<Word>,
}

impl Tokens {
    /// Reads a file; fails with the line and the reason when it isn't Rust.
    pub(super) fn read(text: &str) -> Result<Self, (usize, String)> {
        let stream = TokenStream::from_str(text).map_err(|error| (error.span().start().line, error.to_string()))?;
        let mut tokens = Self::default();
        tokens.walk(stream, &mut Vec::new(), false);
        Ok(tokens)
    }

    /// Goes through one level of tokens, and into its groups; `around` names what it stands in.
    fn walk(&mut self, stream: TokenStream, around: &mut Vec<String>, in_test: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        // What the next brace group belongs to, and whether an attribute made it a test.
        let mut owner: Option<Owner> = None;
        let mut test = in_test;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) => {
                    let word = word.to_string();
                    self.note(&word, &tokens, index, test);
                    // Inside a signature, `impl` and `unsafe fn` are types: the first owner stays.
                    owner = owner.or_else(|| Owner::starting(&word, &tokens[index..]));
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_argument(&tokens, index) => {
                    let body_of = owner.take();
                    self.enter(group, body_of, around, test);
                    test = in_test;
                }
                TokenTree::Group(group) => {
                    test |= is_attribute(&tokens, index) && marks_test(group);
                    self.walk(group.stream(), around, test);
                }
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    owner = None;
                    test = in_test;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Goes into a brace group: the body of `owner`, or a plain block.
    fn enter(&mut self, group: &Group, owner: Option<Owner>, around: &mut Vec<String>, in_test: bool) {
        let Some(owner) = owner else { return self.walk(group.stream(), around, in_test) };
        around.push(owner.name);
        if let Some(line) = owner.function_line {
            let lines = group.span_close().end().line + 1 - line;
            self.functions.push(Function { name: around.join("::"), line, lines });
        }
        self.walk(group.stream(), around, in_test);
        around.pop();
    }

    /// Keeps a word if a rule looks at it.
    fn note(&mut self, word: &str, tokens: &[TokenTree], index: usize, in_test: bool) {
        let line = tokens[index].span().start().line;
        if word == "unsafe"
            && let Some(kind) = unsafe_kind(&tokens[index + 1..])
        {
            self.unsafes.push(Word { text: kind.to_owned(), line, in_test });
        }
        // `name != …` is a comparison: a macro's `!` has a group or a name behind it.
        let called = matches!(tokens.get(index + 1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!')
            && matches!(tokens.get(index + 2), Some(TokenTree::Group(_) | TokenTree::Ident(_)));
        if called {
            self.macros.push(Word { text: format!("{word}!"), line, in_test });
        }
    }
}

/// The item that the next brace group is the body of.
struct Owner {
    name: String,
    /// The line of `fn`, when it is a function.
    function_line: Option<usize>,
}

impl Owner {
    /// The item that starts with `word`, the first of `tokens`.
    fn starting(word: &str, tokens: &[TokenTree]) -> Option<Self> {
        match (word, tokens.get(1)) {
            ("fn", Some(TokenTree::Ident(name))) => {
                Some(Self { name: name.to_string(), function_line: Some(tokens[0].span().start().line) })
            }
            ("mod" | "trait", Some(TokenTree::Ident(name))) => {
                Some(Self { name: name.to_string(), function_line: None })
            }
            ("impl", _) => {
                let head = tokens[1..].iter().take_while(|token| !is_brace(token)).cloned().collect::<TokenStream>();
                Some(Self { name: head.to_string(), function_line: None })
            }
            _ => None,
        }
    }
}

fn is_brace(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// A brace group that is an argument of a generic type (`Block<{ N + 1 }>`), not a body.
fn is_argument(tokens: &[TokenTree], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    matches!(before, Some(TokenTree::Punct(mark)) if mark.as_char() == '<')
}

/// Whether the group is the bracket of an attribute.
fn is_attribute(tokens: &[TokenTree], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    matches!(before, Some(TokenTree::Punct(mark)) if mark.as_char() == '#')
}

/// Whether an attribute says that what follows is only built for tests.
fn marks_test(attribute: &Group) -> bool {
    matches!(attribute.stream().to_string().replace(' ', "").as_str(), "test" | "cfg(test)")
}

/// What the words after `unsafe` make of it; nothing when it is only a type, such as
/// `unsafe extern "C" fn(…)`.
fn unsafe_kind(after: &[TokenTree]) -> Option<&'static str> {
    let is_abi = |token: &&TokenTree| {
        matches!(token, TokenTree::Literal(_)) || matches!(token, TokenTree::Ident(word) if word == "extern")
    };
    let mut rest = after.iter().skip_while(is_abi);
    match (rest.next(), rest.next()) {
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(_))) if word == "fn" => None,
        (Some(TokenTree::Ident(word)), _) if word == "fn" => Some(UNSAFE_FUNCTION),
        _ => Some("unsafe"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(text: &str) -> Vec<(String, usize, usize)> {
        let tokens = Tokens::read(text).unwrap();
        tokens.functions.into_iter().map(|function| (function.name, function.line, function.lines)).collect()
    }

    #[test]
    fn functions_are_found_with_their_length() {
        let text =
            "fn one() {}\n\npub(crate) const fn three(\n    size: [u8; { 1 + 1 }],\n) -> impl Fn() {\n    || ()\n}\n";
        assert_eq!(functions(text), [("one".into(), 1, 1), ("three".into(), 3, 5)]);
    }

    #[test]
    fn functions_are_named_by_what_they_stand_in() {
        let text =
            "mod inner { impl Display for Bytes { fn fmt(&self) {} } trait Named { fn name(&self); } }\nfn last() {}";
        let names: Vec<String> = functions(text).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["inner::Display for Bytes::fmt", "last"]);
    }

    #[test]
    fn strings_comments_and_types_are_no_functions() {
        let text = "// fn comment() {}\nconst TEXT: &str = \"fn text() { }\";\ntype Call = fn(u8) -> u8;\n";
        assert_eq!(functions(text), []);
    }

    #[test]
    fn functions_inside_macros_count() {
        let text =
            "proptest! {\n    #[test]\n    fn round_trip(bytes in any::<u64>()) {\n        check(bytes);\n    }\n}";
        assert_eq!(functions(text), [("round_trip".into(), 3, 3)]);
    }

    #[test]
    fn unsafe_is_found_where_it_opens_something() {
        let text = "unsafe fn raw() {}\nstruct Hook(unsafe extern \"C\" fn(u8));\nfn f() {\n    assert!(unsafe { g() });\n}\n\
                    unsafe impl Send for Hook {}\n// unsafe\nconst WORD: &str = \"unsafe\";\n";
        let lines: Vec<usize> = Tokens::read(text).unwrap().unsafes.iter().map(|word| word.line).collect();
        assert_eq!(lines, [1, 4, 6]);
    }

    #[test]
    fn macros_know_whether_they_stand_in_a_test() {
        let text = "fn f() { println!(\"a\"); if a != (b) {} }\n#[cfg(test)]\nmod tests { fn g() { dbg!(1); } }\n\
                    #[test]\nfn h() { print!(\"\"); }\nfn i() { todo!() }\n#[cfg(not(test))]\nfn j() { eprint!(\"\"); }";
        let found: Vec<(String, bool)> =
            Tokens::read(text).unwrap().macros.into_iter().map(|word| (word.text, word.in_test)).collect();
        let expected = [("println!", false), ("dbg!", true), ("print!", true), ("todo!", false), ("eprint!", false)];
        assert_eq!(found, expected.map(|(name, in_test)| (name.to_owned(), in_test)));
    }

    #[test]
    fn what_is_not_rust_says_where() {
        assert_eq!(Tokens::read("fn f() {}\nfn g( {\n").unwrap_err().0, 2);
    }
}
