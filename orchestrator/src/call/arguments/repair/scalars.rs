//! Strings, numbers and words of a text that is almost JSON.

use serde_json::Value;

use super::{Reader, Unreadable};

impl Reader<'_> {
    pub(super) fn string(&mut self) -> Result<String, Unreadable> {
        let Some((start, quote)) = self.rest.next() else {
            return Err(Unreadable::CutShort("a string"));
        };
        let end = closing_quote(quote).unwrap_or(quote);
        if quote != '"' {
            self.note("quotes were replaced by double ones");
        }
        let mut text = String::new();
        loop {
            match self.rest.next() {
                None => return Err(Unreadable::CutShort("a string")),
                Some((_, c)) if c == end => return Ok(text),
                Some((at, '\\')) => text.push(self.escape(at, end)?),
                Some((_, c @ ('\n' | '\r' | '\t'))) => {
                    self.note("raw line breaks or tabs inside strings were escaped");
                    text.push(c);
                }
                Some((_, c)) if c.is_control() => {
                    return Err(self.fault(start, "a string holds a control character"));
                }
                Some((_, c)) => text.push(c),
            }
        }
    }

    fn escape(&mut self, at: usize, quote: char) -> Result<char, Unreadable> {
        let Some((_, code)) = self.rest.next() else {
            return Err(Unreadable::CutShort("a string"));
        };
        Ok(match code {
            '"' | '\\' | '/' => code,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode(at)?,
            _ if code == quote => code,
            // Guessing that the other backslashes of the string were meant literally, too, would
            // put control characters into a Windows path.
            _ => {
                let what = format!("`\\{code}` is no escape; a backslash is written `\\\\`");
                return Err(self.fault(at, &what));
            }
        })
    }

    fn unicode(&mut self, at: usize) -> Result<char, Unreadable> {
        let first = self.four_digits(at)?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.fault(at, "half a character"));
        }
        let is_pair = self.rest.next().is_some_and(|(_, c)| c == '\\')
            && self.rest.next().is_some_and(|(_, c)| c == 'u');
        let second = if is_pair { self.four_digits(at)? } else { 0 };
        if !(0xDC00..0xE000).contains(&second) {
            return Err(self.fault(at, "half a character"));
        }
        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        char::from_u32(code).ok_or_else(|| self.fault(at, "half a character"))
    }

    fn four_digits(&mut self, at: usize) -> Result<u32, Unreadable> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.rest.next() {
                None => return Err(Unreadable::CutShort("a string")),
                Some((_, c)) => c.to_digit(16),
            };
            code = code * 16 + digit.ok_or_else(|| self.fault(at, "`\\u` wants four digits"))?;
        }
        Ok(code)
    }

    pub(super) fn number(&mut self) -> Result<Value, Unreadable> {
        let mut digits = String::new();
        let start = self.rest.peek().map_or(0, |(at, _)| *at);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        while let Some((_, c)) = self.rest.next_if(|(_, c)| is_part(*c)) {
            digits.push(c);
        }
        let number = serde_json::from_str::<serde_json::Number>(&digits);
        number
            .map(Value::Number)
            .map_err(|_| self.fault(start, &format!("`{digits}` is no number")))
    }

    pub(super) fn word(&mut self) -> Result<Value, Unreadable> {
        let start = self.rest.peek().map_or(0, |(at, _)| *at);
        let mut word = String::new();
        while let Some((_, c)) = self.rest.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        let value = match word.as_str() {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            _ => return Err(self.fault(start, &format!("`{word}` is no value; text wants quotes"))),
        };
        self.note("`True`, `False` and `None` were replaced by `true`, `false` and `null`");
        Ok(value)
    }
}

/// The quote that ends a string which `quote` begins.
pub(super) fn closing_quote(quote: char) -> Option<char> {
    match quote {
        '"' | '\'' => Some(quote),
        '“' | '”' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}
