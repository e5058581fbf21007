use proptest::prelude::*;

use super::{calculate, value};
use crate::{eval, lexer, near::magnitude, number::Number, parser};

/// A random expression that means something in most cases.
fn expression() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0u32..100).prop_map(|n| n.to_string()),
        (0u32..1000, 0u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}")),
        Just("pi".to_owned()),
    ];
    number.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["+", "-", "*", "/", "//", " mod "]),
                inner.clone()
            )
                .prop_map(|(left, sign, right)| format!("({left}){sign}({right})")),
            inner.clone().prop_map(|inner| format!("-{inner}")),
            inner.clone().prop_map(|inner| format!("({inner})%")),
            (inner.clone(), 0u32..5).prop_map(|(base, power)| format!("({base})^{power}")),
            (prop::sample::select(vec!["sqrt(abs", "ln(1+abs", "sin(", "atan(", "tanh("]), inner)
                .prop_map(|(name, inner)| format!("{name}({inner}))")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_typed_makes_it_panic(text in "\\PC{0,60}") {
        let _ = calculate(&text, Some(3));
    }

    #[test]
    fn nothing_made_of_its_own_signs_makes_it_panic(
        text in prop::collection::vec(
            prop::sample::select(vec![
                "1", "0", "2.5", "1e3", "+", "-", "*", "/", "//", "%", "^", "!", "(", ")", "[", "]",
                ",", " ", "²", "√", "<", "==", "pi", "sum", "sin", "log", "irr", "if", "mod", "e",
            ]),
            0..25,
        ),
    ) {
        let _ = calculate(&text.concat(), None);
    }

    #[test]
    fn whole_numbers_agree_with_the_machines(a in -1_000_000_000_000i128.., b in any::<i64>(), c in 1i64..) {
        let (a, b, c) = (a % 1_000_000_000_000_000_000_000, i128::from(b), i128::from(c));
        prop_assert_eq!(value(&format!("({a}) + ({b}) * ({c})")), (a + b * c).to_string());
        prop_assert_eq!(value(&format!("({a}) // ({c})")), a.div_euclid(c).to_string());
        prop_assert_eq!(value(&format!("({a}) % ({c})")), a.rem_euclid(c).to_string());
        prop_assert_eq!(value(&format!("({a}) < ({b})")), u8::from(a < b).to_string());
    }

    #[test]
    fn what_it_says_it_understood_is_worth_the_same(expression in expression()) {
        if let Ok(answer) = calculate(&expression, None) {
            let again = calculate(&answer.read_as, None);
            prop_assert_eq!(again.map(|again| again.value).ok(), Some(answer.value), "{}", answer.read_as);
        }
    }

    #[test]
    fn no_digit_is_shown_that_more_digits_would_change(expression in expression()) {
        let tokens = lexer::tokens(&expression).unwrap();
        let parsed = parser::parse(&tokens, expression.len()).unwrap();
        let few = eval::attempt(&parsed, 40);
        let many = eval::attempt(&parsed, 200);
        if let (Ok(Number::Near(few)), Ok(Number::Near(many))) = (few, many) {
            let (_, apart) = magnitude(&(few.value.clone() - many.value.clone()));
            let bound = few.error.max(many.error) + 0.31;
            prop_assert!(apart <= bound, "{expression}: {} and {}", few.value, many.value);
        }
    }
}
