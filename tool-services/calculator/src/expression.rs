//! An expression as it was understood, and that same understanding as text: every reading that could
//! be doubted (percent, powers, `log`) is spelled out. Made by `parser.rs`, worked out by `eval.rs`.

use std::{fmt::Write as _, ops::Range};

use dashu::rational::RBig;

use crate::functions::Function;

/// An expression. Chains are lists, so that only brackets and powers nest.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) node: Node,
    /// Characters that a fault of this operation is shown at.
    pub(crate) at: Range<usize>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Number {
        value: RBig,
        text: String,
    },
    Constant(Constant),
    List(Vec<Expression>),
    Negate(Box<Expression>),
    /// Terms or factors from left to right.
    Chain {
        first: Box<Expression>,
        rest: Vec<(Operator, Expression, Range<usize>)>,
    },
    Power(Box<Expression>, Box<Expression>),
    Factorial(Box<Expression>),
    Percent(Box<Expression>),
    Compare(Box<Expression>, Comparison, Box<Expression>),
    Call(&'static Function, Vec<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    Pi,
    E,
    Tau,
    Phi,
}

/// Operators of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

/// How tightly a part binds; a part inside a tighter one needs brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Comparison,
    Sum,
    Product,
    Sign,
    Power,
    Atom,
}

impl Constant {
    /// The constant of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Some(match name {
            "pi" => Self::Pi,
            "e" => Self::E,
            "tau" => Self::Tau,
            "phi" => Self::Phi,
            _ => return None,
        })
    }

    /// All names, for hints.
    pub(crate) const NAMES: [&'static str; 4] = ["pi", "e", "tau", "phi"];

    fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::E => "e",
            Self::Tau => "tau",
            Self::Phi => "phi",
        }
    }
}

impl Operator {
    fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::Modulo => "mod",
        }
    }

    fn binding(self) -> Binding {
        match self {
            Self::Add | Self::Subtract => Binding::Sum,
            Self::Multiply | Self::Divide | Self::FloorDivide | Self::Modulo => Binding::Product,
        }
    }
}

impl Comparison {
    fn text(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }
}

impl Expression {
    /// How the expression was understood.
    pub(crate) fn read_as(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        if let Node::Compare(..) = self.node {
            text.push_str(" (1 = true, 0 = false)");
        }
        text
    }

    fn binding(&self) -> Binding {
        match &self.node {
            Node::Compare(..) => Binding::Comparison,
            Node::Chain { rest, .. } => {
                rest.first().map_or(Binding::Sum, |(operator, ..)| operator.binding())
            }
            Node::Negate(_) => Binding::Sign,
            Node::Percent(_) => Binding::Product,
            Node::Power(..) | Node::Factorial(_) => Binding::Power,
            Node::Number { .. } | Node::Constant(_) | Node::List(_) | Node::Call(..) => {
                Binding::Atom
            }
        }
    }

    fn write(&self, text: &mut String) {
        match &self.node {
            Node::Number { text: number, .. } => text.push_str(number),
            Node::Constant(constant) => text.push_str(constant.name()),
            Node::List(items) => write_all(items, ['[', ']'], text),
            Node::Call(function, arguments) => {
                text.push_str(function.name);
                write_all(arguments, ['(', ')'], text);
            }
            Node::Negate(inner) => {
                text.push('-');
                inner.inside(Binding::Atom, text);
            }
            Node::Percent(inner) => {
                inner.inside(Binding::Power, text);
                text.push_str("/100");
            }
            Node::Factorial(inner) => {
                inner.inside(Binding::Atom, text);
                text.push('!');
            }
            Node::Power(base, exponent) => {
                base.inside(Binding::Atom, text);
                text.push('^');
                exponent.inside(Binding::Atom, text);
            }
            Node::Chain { first, rest } => {
                let binding = self.binding();
                first.inside(binding, text);
                for (operator, part, _) in rest {
                    // Writing to a string cannot fail.
                    let _ = write!(text, " {} ", operator.text());
                    // What stands on the right of its equal was in brackets.
                    part.inside(
                        if part.binding() == binding { Binding::Atom } else { binding },
                        text,
                    );
                }
            }
            Node::Compare(left, comparison, right) => {
                left.inside(Binding::Sum, text);
                let _ = write!(text, " {} ", comparison.text());
                right.inside(Binding::Sum, text);
            }
        }
    }

    fn inside(&self, binding: Binding, text: &mut String) {
        if self.binding() >= binding {
            return self.write(text);
        }
        text.push('(');
        self.write(text);
        text.push(')');
    }
}

fn write_all(items: &[Expression], brackets: [char; 2], text: &mut String) {
    text.push(brackets[0]);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        item.write(text);
    }
    text.push(brackets[1]);
}
