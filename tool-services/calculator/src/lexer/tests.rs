use super::*;
use crate::fault::Trouble;

/// The tokens as text: numbers and names plain, superscripts after `^`, the rest by symbol.
fn shown(expression: &str) -> String {
    let tokens = tokens(expression).unwrap();
    let shown = tokens.into_iter().map(|token| match token.kind {
        Kind::Number(text) | Kind::Name(text) => text,
        Kind::Superscript(text) => format!("^{text}"),
        Kind::Symbol(symbol) => format!("{symbol:?}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn fault(expression: &str) -> (String, Range<usize>) {
    match tokens(expression) {
        Err(Fault { trouble: Trouble::Invalid(message), at }) => (message, at),
        other => panic!("{expression}: {other:?}"),
    }
}

#[test]
fn every_input_method_writes_the_same_expression() {
    for (expression, expected) in [
        ("（３＋４）×２．５", "Open 3 Plus 4 Close Times 2.5"),
        ("１２÷４−１", "12 Divide 4 Minus 1"),
        ("5²+1", "5 ^2 Plus 1"),
        ("2⁻¹⁰", "2 ^-10"),
        ("√2·π", "Root 2 Times pi"),
        ("７％３", "7 Percent 3"),
        ("max（1，2）", "max Open 1 Comma 2 Close"),
        ("2**3 // 4", "2 Power 3 FloorDivide 4"),
        ("a1_b", "a1_b"),
        ("3 ≠ 4", "3 NotEqual 4"),
        ("5!=120", "5 NotEqual 120"),
        ("SIN(PI)", "sin Open pi Close"),
        ("7 mod 3", "7 mod 3"),
        ("7mod 3", "7 mod 3"),
    ] {
        assert_eq!(shown(expression), expected, "{expression}");
    }
}

#[test]
fn numbers_are_read_in_every_usual_form() {
    for (expression, expected) in [
        ("1,200,000", "1200000"),
        ("1,200.50", "1200.50"),
        ("(1,200)", "Open 1200 Close"),
        (".5", ".5"),
        ("5.", "5."),
        ("1_000_000", "1000000"),
        ("1e5", "1e5"),
        ("1E+5", "1e5"),
        ("1.5e-3", "1.5e-3"),
        ("2,000e3", "2000e3"),
        ("007", "007"),
    ] {
        assert_eq!(shown(expression), expected, "{expression}");
    }
}

#[test]
fn a_comma_separates_inside_a_call_and_groups_elsewhere() {
    for (expression, expected) in [
        ("max(1,200)", "max Open 1 Comma 200 Close"),
        ("[1,200]", "OpenList 1 Comma 200 CloseList"),
        ("max((1,200), 3)", "max Open Open 1200 Close Comma 3 Close"),
        ("7 mod (1,200)", "7 mod Open 1200 Close"),
        ("mod(1,200)", "mod Open 1 Comma 200 Close"),
        ("max(1,2) + 1,200", "max Open 1 Comma 2 Close Plus 1200"),
    ] {
        assert_eq!(shown(expression), expected, "{expression}");
    }
    let grouping = "A comma groups digits by three, as in 1,200,000; \
        decimals are written with a point.";
    for (expression, at) in [
        ("3,14", 1..2),
        ("1, 200", 1..2),
        ("1,2000", 1..2),
        ("12,34,567", 2..3),
        ("1234,567", 4..5),
        ("0,123", 1..2),
    ] {
        assert_eq!(fault(expression), (grouping.to_owned(), at), "{expression}");
    }
    let separates = "Inside the brackets of a call a comma separates values: \
        write the number without commas.";
    let expected = (separates.to_owned(), 24..28);
    assert_eq!(fault("pmt(0.045/12, 240, 1,200,000)"), expected);
}

#[test]
fn slips_are_refused_where_they_are() {
    for (expression, message, at) in [
        ("1.2.3", "A number has one decimal point.", 0..5),
        ("2pi", "Write an operator here, such as 2*pi.", 1..3),
        ("0x1F", "Write an operator here, such as 0*x1F.", 1..4),
        ("2e", "Write an operator here, such as 2*e.", 1..2),
        ("1=1", "Write == to compare; there is nothing to assign to.", 1..2),
        ("$5", "Write amounts without a currency sign.", 0..1),
        ("2⁻", "This is no power.", 1..2),
        ("1;2", "One expression at a time.", 1..2),
        ("3.", "", 0..0),
    ] {
        if message.is_empty() {
            assert!(tokens(expression).is_ok(), "{expression}");
        } else {
            assert_eq!(fault(expression), (message.to_owned(), at), "{expression}");
        }
    }
}

#[test]
fn length_and_number_of_parts_are_limited() {
    let too_large = |expression: &str| {
        matches!(tokens(expression), Err(Fault { trouble: Trouble::TooLarge(_), .. }))
    };
    assert!(!too_large(&"1".repeat(LENGTH)));
    assert!(too_large(&"1".repeat(LENGTH + 1)));
    assert!(!too_large(&"1+".repeat(TOKENS / 2)));
    assert!(too_large(&"1+".repeat(TOKENS / 2 + 1)));
}
