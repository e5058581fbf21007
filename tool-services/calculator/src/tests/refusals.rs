use super::{calculate, failure};

#[test]
fn a_slip_is_refused_with_its_place_marked() {
    for (expression, expected) in [
        ("", "The expression is empty. At character 1: >>><<<"),
        ("   ", "The expression is empty. At character 1: >>><<<   "),
        ("2 + * 3", "A number, a name or ( is wanted here. At character 5: 2 + >>>*<<< 3"),
        ("2 3", "An operator is missing before this. At character 3: 2 >>>3<<<"),
        ("2(3)", "An operator is missing before this. At character 2: 2>>>(<<<3)"),
        ("(1+2)(3)", "An operator is missing before this. At character 6: (1+2)>>>(<<<3)"),
        ("1.2.3", "A number has one decimal point. At character 1: >>>1.2.3<<<"),
        ("2pi", "Write an operator here, such as 2*pi. At character 2: 2>>>pi<<<"),
        ("pi(2)", "Write an operator after `pi`, such as pi*( ). At character 1: >>>pi<<<(2)"),
        (
            "2 +",
            "The expression ends where a number, a name or ( is wanted. At character 4: 2 +>>><<<",
        ),
        ("(2 + 3", "This bracket is not closed. At character 1: >>>(<<<2 + 3"),
        ("2 + 3)", "No bracket is open here. At character 6: 2 + 3>>>)<<<"),
        ("1 < 2 < 3", "Two values are compared at a time. At character 7: 1 < 2 >>><<<< 3"),
        (
            "3,14",
            "A comma groups digits by three, as in 1,200,000; decimals are written with a point. At character 2: 3>>>,<<<14",
        ),
        ("sin", "`sin` is called with ( ), as in sin(radians). At character 1: >>>sin<<<"),
        ("sqrt()", "`sqrt` was given nothing; it is used as sqrt(x). At character 1: >>>sqrt<<<()"),
        (
            "sqrt(1, 2)",
            "`sqrt` was given 2 values; it is used as sqrt(x). At character 1: >>>sqrt<<<(1, 2)",
        ),
        ("sqrtt(4)", "There is no `sqrtt`; did you mean `sqrt`? At character 1: >>>sqrtt<<<(4)"),
        (
            "[1, 2] + 3",
            "A list is given to a function, as in sum([1, 2, 3]). At character 1: >>>[<<<1, 2] + 3",
        ),
        ("sum([])", "The list is empty. At character 1: >>>sum<<<([])"),
        (
            "5!!",
            "Write (n!)! for a factorial of a factorial; there is no double factorial. At character 3: 5!>>>!<<<",
        ),
        (
            "20万 * 3",
            "Only the names of functions and constants are words here; numbers are written in digits. At character 3: 20>>>万<<< * 3",
        ),
        (
            "x = 3",
            "Write == to compare; there is nothing to assign to. At character 3: x >>>=<<< 3",
        ),
        (
            "2 ** ",
            "The expression ends where a number, a name or ( is wanted. At character 6: 2 ** >>><<<",
        ),
    ] {
        let failure = failure(expression);
        assert_eq!(failure.kind.as_str(), "invalid_arguments", "{expression}");
        assert_eq!(failure.message, expected, "{expression}");
        assert_eq!(failure.violations[0].pointer, "/expression");
    }
}

#[test]
fn languages_of_other_calculators_are_refused() {
    for expression in [
        "__import__('os').system('id')",
        "1 if 2 else 3",
        "lambda: 1",
        "x^2 = 4",
        "solve(x^2-4)",
        "d/dx x^2",
        "5 km to miles",
        "0x1F",
        "1;2",
        "a := 3",
        "{1, 2}",
        "\\frac{1}{2}",
        "=SUM(A1:A3)",
        "1 && 0",
        "~5",
        "5 | 3",
        "3 + 4i",
        "1e",
        "e5x",
        "\u{0}",
        "1\u{202e}2",
        "½",
        "Ⅷ",
        "五",
    ] {
        assert_eq!(failure(expression).kind.as_str(), "invalid_arguments", "{expression}");
    }
}

#[test]
fn what_has_no_value_is_refused_and_says_why() {
    for (expression, expected) in [
        ("10/0", "Division by zero."),
        ("0/0", "Division by zero."),
        ("10%0", "Division by zero."),
        ("10//0", "Division by zero."),
        ("mod(1, 0)", "Division by zero."),
        ("0^-1", "Division by zero: zero has no negative power."),
        ("36000*(0/12)/(1-(1+0/12)^-36)", "Division by zero."),
        ("1/sin(pi)", "Division by zero."),
        ("1/(sqrt(2)^2-2)", "Division by zero."),
        ("log(0)", "Zero has no logarithm."),
        ("ln(-1)", "A negative number has no real logarithm."),
        ("log(5, 1)", "There is no logarithm to base 1."),
        ("sqrt(-1)", "A negative number has no real root of even degree."),
        (
            "(-8)^(1/3)",
            "A negative number has no real power 1/3; roots of odd degree are written root(x, n).",
        ),
        ("(-2)^pi", "Only a positive number has a power that is not whole."),
        ("asin(1.1)", "asin and acos want a number from -1 to 1."),
        ("tan(pi/2)", "The tangent has no value at this angle."),
        ("acosh(0.5)", "acosh wants a number from 1."),
        ("atanh(1)", "atanh wants a number between -1 and 1."),
        ("atan2(0, 0)", "The point (0, 0) has no angle."),
        ("(-1)!", "A factorial wants whole numbers from 0."),
        ("2.5!", "A factorial wants whole numbers."),
        ("gcd(1.5, 2)", "gcd wants whole numbers."),
        ("stdev(1)", "A sample's spread wants at least two values."),
        ("root(2, 0)", "The degree of a root is a whole number from 1 to 10000."),
        (
            "round(1, 0.5)",
            "The number of digits to round to is a whole number from -10000 to 10000.",
        ),
        ("percentile(1, 2)", "It is used as percentile([a, b, ...], share)."),
    ] {
        let failure = failure(expression);
        assert_eq!(failure.kind.as_str(), "invalid_arguments", "{expression}");
        assert!(failure.message.starts_with(expected), "{expression}: {}", failure.message);
    }
}

#[test]
fn limits_are_checked_before_the_work_is_done() {
    let mut expressions: Vec<String> = [
        "9^9^9^9",
        "2^2^2^2^2^2",
        "factorial(10^9)",
        "10^9!",
        "10^10001",
        "2^-100000",
        "(10^9999) * 10^9999",
        "1e-9999/1e9999",
        "1e99999999999999999999",
        "1e100000",
        "exp(10^9)",
        "exp(exp(20))",
        "exp(-10^6)",
        "comb(10^18, 9*10^17)",
        "perm(10^18, 500)",
        "1.0000001^(10^13)",
        "pmt(0.01, 10^9, 1)",
        "sin(10^9000)",
        "round(exp(9000), 3) + sin(exp(9000))",
    ]
    .map(str::to_owned)
    .to_vec();
    expressions.push(format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000)));
    expressions.push(format!("1{}", "*1".repeat(100_000)));
    expressions.push(format!("{}1{}", "(".repeat(65), ")".repeat(65)));
    expressions.push(format!("{}1", "-".repeat(65)));
    expressions.push(format!("{}2", "2^".repeat(65)));
    expressions.push(format!("5{}", "%".repeat(65)));
    expressions.push("1+".repeat(501) + "1");
    expressions.push("9".repeat(1_048_576));
    let logarithms: Vec<String> = (2..200).map(|n| format!("ln({n})")).collect();
    expressions.push(logarithms.join("+"));
    for expression in &expressions {
        let shown: String = expression.chars().take(60).collect();
        let failure = failure(expression);
        assert_eq!(failure.kind.as_str(), "too_large", "{shown}: {}", failure.message);
        assert!(failure.message.len() < 400, "{shown}");
    }
}

#[test]
fn what_just_keeps_the_limits_is_worked_out() {
    let nested = |levels: usize| format!("{}7{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(calculate(&nested(64), None).unwrap().value, "7");
    let calls = format!("{}1{}", "abs(".repeat(64), ")".repeat(64));
    assert_eq!(calculate(&calls, None).unwrap().value, "1");
    assert_eq!(calculate(&("1+".repeat(499) + "1"), None).unwrap().value, "500");
    assert_eq!(calculate("10^9999", None).unwrap().value.len(), 10_000);
    assert_eq!(calculate("1e400", None).unwrap().value, format!("1{}", "0".repeat(400)));
    assert_eq!(calculate("3000!", None).unwrap().value.len(), 9_131);
}

#[test]
fn work_is_refused_by_what_it_really_takes() {
    let sum = |terms: usize, term: &dyn Fn(usize) -> String| {
        (0..terms).map(term).collect::<Vec<_>>().join("+")
    };
    let power = |index: usize| format!("2^0.{}", 100 + index);
    let literal = |_: usize| "1e9999".to_owned();
    let arc = |index: usize| format!("asin(0.{})", 100 + index);
    let angle = |index: usize| format!("sin(1e{})", 3000 + index);
    let factorial = |index: usize| format!("{}!", 3000 + index);
    for expression in [
        sum(220, &power),
        sum(490, &literal),
        sum(160, &arc),
        sum(10, &angle),
        sum(200, &factorial),
    ] {
        let failure = failure(&expression);
        assert_eq!(failure.kind.as_str(), "too_large", "{expression:.40}: {}", failure.message);
    }
    for expression in [sum(10, &power), sum(10, &literal), sum(5, &arc), sum(5, &factorial)] {
        assert!(calculate(&expression, None).is_ok(), "{expression:.40}");
    }
}

#[test]
fn a_long_text_or_name_is_refused_without_a_look_at_it() {
    let message = failure(&"1+".repeat(500_000)).message;
    assert_eq!(message, "The expression has 1000000 bytes, the limit is 4096.");
    let message = failure(&"a".repeat(4096)).message;
    assert!(message.starts_with("There is no name of 4096 letters. At character 1"), "{message}");
    assert!(message.len() < 400);
}
