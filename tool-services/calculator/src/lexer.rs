//! Text to tokens. Digits, signs and brackets of any input method become plain ones, one character
//! for one, so that places stay true. Only here is it decided what a comma is: inside the brackets
//! of a call or a list it separates values, anywhere else it groups thousands. What `%` means is the
//! parser's question (`parser.rs`, next).

mod characters;

use std::ops::Range;

use self::characters::{constant, plain, superscript};
use crate::fault::Fault;

/// Longest expression in bytes.
pub(crate) const LENGTH: usize = 4 * 1024;
/// Most tokens.
pub(crate) const TOKENS: usize = 1000;

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Numbers of characters, from 0.
    pub(crate) at: Range<usize>,
    /// Whether white space stands before it.
    pub(crate) spaced: bool,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Plain digits with at most one point and one exponent.
    Number(String),
    /// Lower case.
    Name(String),
    /// Digits of a power written above the line, with its sign.
    Superscript(String),
    Symbol(Symbol),
}

/// Operators and brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Plus,
    Minus,
    Times,
    Divide,
    FloorDivide,
    Percent,
    Power,
    Bang,
    Root,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
}

/// What the innermost open bracket is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Group,
    Values,
}

/// Splits an expression into tokens.
pub(crate) fn tokens(expression: &str) -> Result<Vec<Token>, Fault> {
    if expression.len() > LENGTH {
        let message =
            format!("The expression has {} bytes, the limit is {LENGTH}.", expression.len());
        return Err(Fault::too_large(message, 0..0));
    }
    let text = expression.chars().map(plain).collect();
    let mut lexer = Lexer { text, next: 0, brackets: Vec::new(), tokens: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer {
    text: Vec<char>,
    next: usize,
    brackets: Vec<Bracket>,
    tokens: Vec<Token>,
}

impl Lexer {
    fn run(&mut self) -> Result<(), Fault> {
        loop {
            let mut spaced = false;
            while self.peek(0) == Some(' ') {
                self.next += 1;
                spaced = true;
            }
            let Some(character) = self.peek(0) else { return Ok(()) };
            let start = self.next;
            if self.tokens.len() == TOKENS {
                let message =
                    format!("The expression has more than {TOKENS} parts, which is the limit.");
                return Err(Fault::too_large(message, start..start + 1));
            }
            let is_number = character.is_ascii_digit()
                || (character == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit()));
            let kind = if is_number {
                Kind::Number(self.number()?)
            } else if character.is_ascii_alphabetic() || character == '_' {
                Kind::Name(self.name())
            } else if superscript(character).is_some() {
                Kind::Superscript(self.raised()?)
            } else if let Some(constant) = constant(character) {
                self.next += 1;
                Kind::Name(constant.to_owned())
            } else {
                Kind::Symbol(self.symbol(character)?)
            };
            self.tokens.push(Token { kind, at: start..self.next, spaced });
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.next + ahead).copied()
    }

    fn digits(&mut self, into: &mut String) -> usize {
        let mut count = 0;
        while let Some(character) = self.peek(0) {
            let joins = character == '_'
                && count > 0
                && self.peek(1).is_some_and(|next| next.is_ascii_digit());
            if !character.is_ascii_digit() && !joins {
                break;
            }
            if !joins {
                into.push(character);
                count += 1;
            }
            self.next += 1;
        }
        count
    }

    fn number(&mut self) -> Result<String, Fault> {
        let start = self.next;
        let mut number = String::new();
        let whole = self.digits(&mut number);
        self.thousands(start, whole, &mut number)?;
        if self.peek(0) == Some('.') {
            self.next += 1;
            number.push('.');
            self.digits(&mut number);
        }
        if self.peek(0) == Some('.') {
            while self.peek(0).is_some_and(|next| next == '.' || next.is_ascii_digit()) {
                self.next += 1;
            }
            return Err(Fault::invalid("A number has one decimal point.", start..self.next));
        }
        self.exponent(&mut number);
        let is_glued = self.peek(0).is_some_and(|next| next.is_ascii_alphabetic() || next == '_');
        if is_glued && !self.is_word("mod") {
            let end = self.next;
            self.name();
            let message = format!("Write an operator here, such as {number}*{}.", self.slice(end));
            return Err(Fault::invalid(message, end..self.next));
        }
        Ok(number)
    }

    /// Groups of three after commas, where a comma cannot separate values.
    fn thousands(&mut self, start: usize, whole: usize, number: &mut String) -> Result<(), Fault> {
        let in_values = self.brackets.last() == Some(&Bracket::Values);
        if in_values {
            // `pmt(r, n, 1,200,000)`: a model grouped thousands where commas separate.
            let follows_group =
                start >= 2 && self.text[start - 1] == ',' && self.text[start - 2].is_ascii_digit();
            if follows_group && whole == 3 && number.starts_with('0') {
                let message = "Inside the brackets of a call a comma separates values: \
                    write the number without commas.";
                return Err(Fault::invalid(message, start - 1..self.next));
            }
            return Ok(());
        }
        while self.peek(0) == Some(',') {
            let group = (1..4)
                .all(|ahead| self.peek(ahead).is_some_and(|next| next.is_ascii_digit()))
                && !self.peek(4).is_some_and(|next| next.is_ascii_digit());
            if !group || whole > 3 || whole == 0 || number.starts_with('0') {
                let message = "A comma groups digits by three, as in 1,200,000; \
                    decimals are written with a point.";
                return Err(Fault::invalid(message, self.next..self.next + 1));
            }
            self.next += 1;
            self.digits(number);
        }
        Ok(())
    }

    fn exponent(&mut self, number: &mut String) {
        let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
        let has_digits = self.peek(1 + signed).is_some_and(|next| next.is_ascii_digit());
        if matches!(self.peek(0), Some('e' | 'E')) && has_digits {
            number.push('e');
            if self.peek(1) == Some('-') {
                number.push('-');
            }
            self.next += 1 + signed;
            self.digits(number);
        }
    }

    fn name(&mut self) -> String {
        let start = self.next;
        while self.peek(0).is_some_and(|next| next.is_ascii_alphanumeric() || next == '_') {
            self.next += 1;
        }
        self.slice(start).to_ascii_lowercase()
    }

    fn is_word(&self, word: &str) -> bool {
        let mut ahead = 0;
        for expected in word.chars() {
            if self.peek(ahead).is_none_or(|next| !next.eq_ignore_ascii_case(&expected)) {
                return false;
            }
            ahead += 1;
        }
        self.peek(ahead).is_none_or(|next| !next.is_ascii_alphanumeric() && next != '_')
    }

    fn raised(&mut self) -> Result<String, Fault> {
        let start = self.next;
        let mut power = String::new();
        while let Some(character) = self.peek(0).and_then(superscript) {
            power.push(character);
            self.next += 1;
        }
        let digits = power.trim_start_matches(['+', '-']);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || power.len() - digits.len() > 1 {
            return Err(Fault::invalid("This is no power.", start..self.next));
        }
        Ok(power.trim_start_matches('+').to_owned())
    }

    fn symbol(&mut self, character: char) -> Result<Symbol, Fault> {
        let second = self.peek(1);
        let (symbol, length) = match (character, second) {
            ('*', Some('*')) => (Symbol::Power, 2),
            ('/', Some('/')) => (Symbol::FloorDivide, 2),
            ('<', Some('=')) => (Symbol::LessEqual, 2),
            ('<', Some('>')) | ('!', Some('=')) => (Symbol::NotEqual, 2),
            ('>', Some('=')) => (Symbol::GreaterEqual, 2),
            ('=', Some('=')) => (Symbol::Equal, 2),
            ('+', _) => (Symbol::Plus, 1),
            ('-', _) => (Symbol::Minus, 1),
            ('*', _) => (Symbol::Times, 1),
            ('/', _) => (Symbol::Divide, 1),
            ('%', _) => (Symbol::Percent, 1),
            ('^', _) => (Symbol::Power, 1),
            ('!', _) => (Symbol::Bang, 1),
            ('√', _) => (Symbol::Root, 1),
            ('<', _) => (Symbol::Less, 1),
            ('>', _) => (Symbol::Greater, 1),
            ('≤', _) => (Symbol::LessEqual, 1),
            ('≥', _) => (Symbol::GreaterEqual, 1),
            ('≠', _) => (Symbol::NotEqual, 1),
            ('(', _) => (Symbol::Open, 1),
            (')', _) => (Symbol::Close, 1),
            ('[', _) => (Symbol::OpenList, 1),
            (']', _) => (Symbol::CloseList, 1),
            (',', _) => (Symbol::Comma, 1),
            _ => return Err(self.unknown(character)),
        };
        match symbol {
            Symbol::Open => {
                let is_call = self.calls();
                self.brackets.push(if is_call { Bracket::Values } else { Bracket::Group });
            }
            Symbol::OpenList => self.brackets.push(Bracket::Values),
            Symbol::Close | Symbol::CloseList => {
                self.brackets.pop();
            }
            _ => {}
        }
        self.next += length;
        Ok(symbol)
    }

    /// Whether a bracket here opens the values of a call; `7 mod (...)` is none.
    fn calls(&self) -> bool {
        let is_value = |token: &Token| match token.kind {
            Kind::Number(_) | Kind::Name(_) | Kind::Superscript(_) => true,
            Kind::Symbol(symbol) => {
                matches!(symbol, Symbol::Close | Symbol::CloseList | Symbol::Bang | Symbol::Percent)
            }
        };
        match self.tokens.as_slice() {
            [.., before, Token { kind: Kind::Name(name), .. }] if name == "mod" => {
                !is_value(before)
            }
            [.., Token { kind: Kind::Name(_), .. }] => true,
            _ => false,
        }
    }

    fn unknown(&self, character: char) -> Fault {
        let message = match character {
            '=' => "Write == to compare; there is nothing to assign to.",
            '$' | '€' | '£' | '¥' | '￥' => "Write amounts without a currency sign.",
            '"' | '\'' | '“' | '”' => "There is no text in an expression.",
            '{' | '}' => "Group with ( and ).",
            ';' => "One expression at a time.",
            '&' | '|' | '~' => "There are no logical or bit operators here.",
            '∞' => "Infinity is no number here.",
            _ if character.is_alphabetic() => {
                "Only the names of functions and constants are words here; \
                 numbers are written in digits."
            }
            _ => "This character means nothing here.",
        };
        Fault::invalid(message, self.next..self.next + 1)
    }

    fn slice(&self, start: usize) -> String {
        self.text[start..self.next].iter().collect()
    }
}

#[cfg(test)]
mod tests;
