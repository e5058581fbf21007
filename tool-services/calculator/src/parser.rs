//! Tokens to an expression, by what each sign means where it stands. `-2^2` is -(2^2), `2^3^2` is
//! 2^(3^2). `%` is a remainder before a number, a name or a bracket; before a sign it is one where a
//! space stands before `%` and none after the sign; else it is hundredths. What an expression is
//! worth is `eval.rs`' question; next is `expression.rs`.

mod literal;

use std::ops::Range;

use dashu::base::BitTest as _;

use self::literal::{number, unknown};
use crate::{
    expression::{Comparison, Constant, Expression, Node, Operator},
    fault::Fault,
    functions::{self, Function},
    lexer::{Kind, Symbol, Token},
};

/// How deep brackets, signs and powers may nest.
pub(crate) const DEPTH: usize = 64;

/// Longest that all numbers of an expression may be together; some 200,000 digits.
const BITS: usize = 20 * 33_220;

/// Parses all tokens of an expression that has `length` characters.
pub(crate) fn parse(tokens: &[Token], length: usize) -> Result<Expression, Fault> {
    let mut parser = Parser { tokens, next: 0, depth: 0, bits: 0, end: length };
    if tokens.is_empty() {
        return Err(Fault::invalid("The expression is empty.", 0..0));
    }
    let expression = parser.comparison()?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) => Err(parser.unexpected(token)),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
    /// Of all numbers so far.
    bits: usize,
    end: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn symbol(&self) -> Option<Symbol> {
        match self.peek()?.kind {
            Kind::Symbol(symbol) => Some(symbol),
            Kind::Number(_) | Kind::Name(_) | Kind::Superscript(_) => None,
        }
    }

    fn take(&mut self, symbol: Symbol) -> Option<Range<usize>> {
        let token = self.peek()?;
        (token.kind == Kind::Symbol(symbol)).then(|| {
            self.next += 1;
            token.at.clone()
        })
    }

    /// Goes one level down; every way down passes here, so nothing nests deeper than allowed.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > DEPTH {
            let at = self.peek().map_or(self.end..self.end, |token| token.at.clone());
            let message =
                format!("The expression nests deeper than {DEPTH} levels, which is the limit.");
            return Err(Fault::too_large(message, at));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn comparison(&mut self) -> Result<Expression, Fault> {
        let left = self.sum()?;
        let Some(comparison) = self.symbol().and_then(comparison_of) else { return Ok(left) };
        let at = self.tokens[self.next].at.clone();
        self.next += 1;
        let right = self.sum()?;
        if self.symbol().and_then(comparison_of).is_some() {
            let at = self.tokens[self.next].at.clone();
            return Err(Fault::invalid("Two values are compared at a time.", at));
        }
        let node = Node::Compare(Box::new(left), comparison, Box::new(right));
        Ok(Expression { node, at })
    }

    fn sum(&mut self) -> Result<Expression, Fault> {
        self.chain(Self::product, |parser| {
            Some(match parser.symbol()? {
                Symbol::Plus => Operator::Add,
                Symbol::Minus => Operator::Subtract,
                _ => return None,
            })
        })
    }

    fn product(&mut self) -> Result<Expression, Fault> {
        self.chain(Self::signed, |parser| {
            if let Kind::Name(name) = &parser.peek()?.kind {
                return (name == "mod").then_some(Operator::Modulo);
            }
            Some(match parser.symbol()? {
                Symbol::Times => Operator::Multiply,
                Symbol::Divide => Operator::Divide,
                Symbol::FloorDivide => Operator::FloorDivide,
                // One that is a percent sign was taken with its number.
                Symbol::Percent => Operator::Modulo,
                _ => return None,
            })
        })
    }

    fn chain(
        &mut self,
        part: fn(&mut Self) -> Result<Expression, Fault>,
        operator: fn(&Self) -> Option<Operator>,
    ) -> Result<Expression, Fault> {
        let first = part(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operator(self) {
            let at = self.tokens[self.next].at.clone();
            self.next += 1;
            rest.push((operator, part(self)?, at));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let at = first.at.clone();
        Ok(Expression { node: Node::Chain { first: Box::new(first), rest }, at })
    }

    fn signed(&mut self) -> Result<Expression, Fault> {
        if let Some(at) = self.take(Symbol::Minus) {
            let inner = self.nested(Self::signed)?;
            return Ok(Expression { node: Node::Negate(Box::new(inner)), at });
        }
        if self.take(Symbol::Plus).is_some() {
            return self.nested(Self::signed);
        }
        let base = self.postfix()?;
        let Some(at) = self.take(Symbol::Power) else { return Ok(base) };
        let exponent = self.nested(Self::signed)?;
        Ok(Expression { node: Node::Power(Box::new(base), Box::new(exponent)), at })
    }

    fn postfix(&mut self) -> Result<Expression, Fault> {
        let mut value = self.primary()?;
        let mut marks = 0;
        while let Some(token) = self.peek() {
            let at = token.at.clone();
            let node = match &token.kind {
                Kind::Superscript(power) => {
                    let exponent = self.literal(power, &at)?;
                    let exponent = Expression { node: exponent, at: at.clone() };
                    Node::Power(Box::new(value), Box::new(exponent))
                }
                Kind::Symbol(Symbol::Bang) => {
                    if matches!(value.node, Node::Factorial(_)) && value.at.end == at.start {
                        let message = "Write (n!)! for a factorial of a factorial; \
                            there is no double factorial.";
                        return Err(Fault::invalid(message, at));
                    }
                    Node::Factorial(Box::new(value))
                }
                Kind::Symbol(Symbol::Percent) if self.is_percent() => {
                    Node::Percent(Box::new(value))
                }
                Kind::Number(_) | Kind::Name(_) | Kind::Symbol(_) => break,
            };
            self.next += 1;
            marks += 1;
            if marks > DEPTH {
                let message = format!("More than {DEPTH} signs follow one value.");
                return Err(Fault::too_large(message, at));
            }
            value = Expression { node, at };
        }
        Ok(value)
    }

    /// Whether the `%` here means hundredths.
    fn is_percent(&self) -> bool {
        let Some(following) = self.tokens.get(self.next + 1) else { return true };
        match following.kind {
            Kind::Number(_)
            | Kind::Name(_)
            | Kind::Symbol(Symbol::Open | Symbol::OpenList | Symbol::Root) => false,
            Kind::Symbol(Symbol::Plus | Symbol::Minus) => {
                let spaced_before = self.tokens[self.next].spaced;
                let operand = self.tokens.get(self.next + 2);
                !(spaced_before && operand.is_some_and(|operand| !operand.spaced))
            }
            Kind::Superscript(_) | Kind::Symbol(_) => true,
        }
    }

    fn primary(&mut self) -> Result<Expression, Fault> {
        let Some(token) = self.peek() else {
            let message = "The expression ends where a number, a name or ( is wanted.";
            return Err(Fault::invalid(message, self.end..self.end));
        };
        let at = token.at.clone();
        match &token.kind {
            Kind::Number(text) => {
                self.next += 1;
                Ok(Expression { node: self.literal(text, &at)?, at })
            }
            Kind::Name(name) => {
                self.next += 1;
                self.named(name, at)
            }
            Kind::Symbol(Symbol::Open) => {
                self.next += 1;
                let inner = self.nested(Self::comparison)?;
                self.close(Symbol::Close, &at)?;
                Ok(inner)
            }
            Kind::Symbol(Symbol::OpenList) => {
                self.next += 1;
                let items = self.values(Symbol::CloseList, &at)?;
                Ok(Expression { node: Node::List(items), at })
            }
            Kind::Symbol(Symbol::Root) => {
                self.next += 1;
                let inner = self.nested(Self::primary)?;
                Ok(Expression { node: Node::Call(functions::sqrt(), vec![inner]), at })
            }
            Kind::Symbol(_) | Kind::Superscript(_) => Err(self.unexpected(token)),
        }
    }

    /// A number as it is written: `1e9999` is short, and long to multiply out.
    fn literal(&mut self, text: &str, at: &Range<usize>) -> Result<Node, Fault> {
        let node = number(text, at)?;
        if let Node::Number { value, .. } = &node {
            self.bits += value.numerator().bit_len() + value.denominator().bit_len();
        }
        if self.bits > BITS {
            let message = "The numbers of this expression have too many digits in all.";
            return Err(Fault::too_large(message, at.clone()));
        }
        Ok(node)
    }

    fn named(&mut self, name: &str, at: Range<usize>) -> Result<Expression, Fault> {
        if self.take(Symbol::Open).is_none() {
            if let Some(constant) = Constant::find(name) {
                return Ok(Expression { node: Node::Constant(constant), at });
            }
            let message = match Function::find(name) {
                Some(function) => format!("`{name}` is called with ( ), as in {}.", function.usage),
                None => unknown(name),
            };
            return Err(Fault::invalid(message, at));
        }
        let open = self.tokens[self.next - 1].at.clone();
        let Some(function) = Function::find(name) else {
            let message = match Constant::find(name) {
                Some(_) => format!("Write an operator after `{name}`, such as {name}*( )."),
                None => unknown(name),
            };
            return Err(Fault::invalid(message, at));
        };
        let arguments = self.values(Symbol::Close, &open)?;
        if !function.arity.contains(&arguments.len()) {
            let given = match arguments.len() {
                0 => "nothing".to_owned(),
                1 => "1 value".to_owned(),
                count => format!("{count} values"),
            };
            let message =
                format!("`{}` was given {given}; it is used as {}.", function.name, function.usage);
            return Err(Fault::invalid(message, at));
        }
        Ok(Expression { node: Node::Call(function, arguments), at })
    }

    fn values(&mut self, close: Symbol, open: &Range<usize>) -> Result<Vec<Expression>, Fault> {
        let mut values = Vec::new();
        if self.take(close).is_some() {
            return Ok(values);
        }
        loop {
            values.push(self.nested(Self::comparison)?);
            if self.take(Symbol::Comma).is_none() {
                self.close(close, open)?;
                return Ok(values);
            }
        }
    }

    fn close(&mut self, close: Symbol, open: &Range<usize>) -> Result<(), Fault> {
        if self.take(close).is_some() {
            return Ok(());
        }
        match self.peek() {
            None => Err(Fault::invalid("This bracket is not closed.", open.clone())),
            Some(token) => Err(self.unexpected(token)),
        }
    }

    fn unexpected(&self, token: &Token) -> Fault {
        let is_after_value = self.next > 0
            && matches!(
                self.tokens[self.next - 1].kind,
                Kind::Number(_)
                    | Kind::Name(_)
                    | Kind::Superscript(_)
                    | Kind::Symbol(
                        Symbol::Close | Symbol::CloseList | Symbol::Bang | Symbol::Percent
                    )
            );
        let message = match (&token.kind, is_after_value) {
            (Kind::Number(_) | Kind::Name(_) | Kind::Symbol(Symbol::Open | Symbol::Root), true) => {
                "An operator is missing before this."
            }
            (Kind::Symbol(Symbol::Close | Symbol::CloseList), true) => "No bracket is open here.",
            (Kind::Symbol(Symbol::Comma), true) => "A comma separates values only inside a call.",
            (_, true) => "An operator is wanted here.",
            (_, false) => "A number, a name or ( is wanted here.",
        };
        Fault::invalid(message, token.at.clone())
    }
}

fn comparison_of(symbol: Symbol) -> Option<Comparison> {
    Some(match symbol {
        Symbol::Less => Comparison::Less,
        Symbol::LessEqual => Comparison::LessEqual,
        Symbol::Greater => Comparison::Greater,
        Symbol::GreaterEqual => Comparison::GreaterEqual,
        Symbol::Equal => Comparison::Equal,
        Symbol::NotEqual => Comparison::NotEqual,
        _ => return None,
    })
}
