//! What is true, worked out by programs that are not ours: Python, `grep`, `wc`, `ls`, `find`.

use std::{path::Path, process::Command};

/// Prints all ways to write a number that are right: exact where its decimals end, and rounded to
/// so many digits after the point. `PLACES` is the fewest; money has exactly two.
const PYTHON: &str = r"
import re, sys
from decimal import Decimal, getcontext, ROUND_HALF_EVEN, ROUND_HALF_UP
from fractions import Fraction as F
import statistics

getcontext().prec = 100

def root(value, degree):
    value = Decimal(value.numerator) / Decimal(value.denominator)
    near = value ** (Decimal(1) / Decimal(int(degree)))
    return near.to_integral_value() if abs(near - near.to_integral_value()) < Decimal('1e-60') else near

def payment(amount, rate, periods):
    return amount * rate / (1 - (1 + rate) ** -int(periods))

def saved(amount, rate, periods):
    return amount * ((1 + rate) ** int(periods) - 1) / rate

def mean(numbers):
    return sum(numbers, F(0)) / len(numbers)

def median(numbers):
    return statistics.median(numbers)

expression, places = sys.argv[1], int(sys.argv[2])
expression = re.sub(r'\d+(\.\d+)?', lambda match: f'F({match.group()!r})', expression)
value = eval(expression)
value = F(value) if not isinstance(value, Decimal) else value
decimal = value if isinstance(value, Decimal) else Decimal(value.numerator) / Decimal(value.denominator)
forms = set()
if F(decimal) == F(value):
    forms.add(f'{decimal:f}')
for digits in range(places, 45):
    for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP):
        rounded = decimal.quantize(Decimal(1).scaleb(-digits), rounding)
        if rounded != 0 and (abs(rounded) >= 10 or len(rounded.as_tuple().digits) >= 3):
            forms.add(f'{rounded:f}')
for form in sorted(forms):
    print(form)
    if '.' in form:
        print(form.rstrip('0').rstrip('.'))
";

/// Ways to write the value of an expression (Python, with `payment` and the like from above).
pub(super) fn numbers(expression: &str) -> Vec<String> {
    let mut command = Command::new("python3");
    lines(command.args(["-c", PYTHON, expression, "2"]), expression)
}

/// What a line of the shell prints in a folder, by lines.
pub(super) fn shell(line: &str, folder: &Path) -> Vec<String> {
    let mut command = Command::new("sh");
    lines(command.args(["-c", line]).current_dir(folder), line)
}

fn lines(command: &mut Command, what: &str) -> Vec<String> {
    let output = command.env("LC_ALL", "C.UTF-8").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "the oracle fails: {what}: {stderr}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
