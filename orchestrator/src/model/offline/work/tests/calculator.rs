//! A small calculator for tests: operators, brackets and a few functions on `f64`.

/// The value of an expression as text, without a tail of binary rounding.
pub(super) fn value(expression: &str) -> Option<String> {
    let mut parser = Parser { rest: expression.trim() };
    let value = parser.sum()?;
    parser.rest.trim().is_empty().then(|| text(value))
}

fn text(value: f64) -> String {
    let text = format!("{value:.10}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(sign);
        if let Some(rest) = found {
            self.rest = rest;
        }
        found.is_some()
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value += self.product()?;
            } else if self.take("-") {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.sign()?;
        loop {
            if self.take("*") {
                value *= self.sign()?;
            } else if self.take("/") {
                value /= self.sign()?;
            } else if self.take("%") {
                value %= self.sign()?;
            } else {
                return Some(value);
            }
        }
    }

    fn sign(&mut self) -> Option<f64> {
        if self.take("-") { Some(-self.sign()?) } else { self.power() }
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.atom()?;
        if self.take("^") { Some(base.powf(self.sign()?)) } else { Some(base) }
    }

    fn atom(&mut self) -> Option<f64> {
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        if self.take("sqrt(") {
            let value = self.sum()?;
            return self.take(")").then(|| value.sqrt());
        }
        if self.take("max(") {
            let mut value = self.sum()?;
            while self.take(",") {
                value = value.max(self.sum()?);
            }
            return self.take(")").then_some(value);
        }
        let digits =
            self.rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }
}
