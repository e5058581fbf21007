use std::{future::poll_fn, pin::pin, task::Poll};

use callboard_tool::testing;
use serde_json::{Value, json};

use crate::{Arguments, Calculator, service};

#[tokio::test]
async fn a_call_over_grpc_is_answered_with_value_exact_and_reading() {
    let served = testing::start(service()).await.unwrap();
    let arguments = json!({"expression": "(12000 * 0.045) / 12"});
    let output = served.invoke("calculate", arguments).await.unwrap();
    assert_eq!(output.content, "45");
    let structured: Value = serde_json::from_slice(&output.structured).unwrap();
    let expected = json!({"value": "45", "exact": "45/1", "read_as": "12000 * 0.045 / 12"});
    assert_eq!(structured, expected);

    let arguments = json!({"expression": "pmt(0.045/12, 240, 1200000)", "precision": 2});
    let output = served.invoke("calculate", arguments).await.unwrap();
    assert_eq!(output.content, "-7591.79");
    served.stop().await.unwrap();
}

#[tokio::test]
async fn a_refused_expression_leaves_the_service_working() {
    let served = testing::start(service()).await.unwrap();
    let mib = "1+".repeat(500_000);
    for (arguments, kind) in [
        (json!({"expression": "9^9^9^9"}), "TooLarge"),
        (json!({"expression": mib}), "TooLarge"),
        (json!({"expression": "1/0"}), "InvalidArguments"),
        (json!({"expression": "2 + * 3"}), "InvalidArguments"),
        (json!({"expression": 5}), "InvalidArguments"),
        (json!({"expression": "1", "precision": -1}), "InvalidArguments"),
        (json!({"expression": "1", "digits": 3}), "InvalidArguments"),
        (json!({}), "InvalidArguments"),
    ] {
        let failure = served.invoke("calculate", arguments).await.unwrap_err();
        assert_eq!(format!("{:?}", failure.kind()), kind, "{}", failure.message);
        assert!(!failure.message.is_empty() || !failure.violations.is_empty());
        let output = served.invoke("calculate", json!({"expression": "1+1"})).await.unwrap();
        assert_eq!(output.content, "2");
    }
}

#[tokio::test]
async fn too_many_digits_are_refused_by_name() {
    let served = testing::start(service()).await.unwrap();
    let arguments = json!({"expression": "1", "precision": 1001});
    let failure = served.invoke("calculate", arguments).await.unwrap_err();
    assert_eq!(failure.violations[0].pointer, "/precision");
    assert!(failure.message.contains("At most 1000 digits"), "{}", failure.message);
}

/// Whether an expression was worked out before anything else of the runtime could run, and the value.
async fn worked_out_at_once(expression: &str) -> (bool, String) {
    let calculator = Calculator::new();
    let arguments = Arguments { expression: expression.to_owned(), precision: None };
    let mut answer = pin!(calculator.answer(arguments));
    match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
        Poll::Ready(done) => (true, done.unwrap().value),
        Poll::Pending => (false, answer.await.unwrap().value),
    }
}

#[tokio::test]
async fn what_takes_long_holds_nothing_up() {
    let sum = |terms: u32| (2..terms + 2).map(|n| format!("ln({n})")).collect::<Vec<_>>().join("+");
    for expression in ["1+1", "(12000 * 0.045) / 12", "pmt(4.5%/12, 20*12, 1200000)", "sqrt(2)*pi"]
    {
        assert!(worked_out_at_once(expression).await.0, "{expression}");
    }
    let (at_once, value) = worked_out_at_once(&sum(40)).await;
    assert!(!at_once);
    // ln 2 + ... + ln 41 is the logarithm of 41!, by the decimal module of Python.
    assert_eq!(value, "114.0342117814617032329202979871644");
}

#[tokio::test]
async fn many_costly_calls_at_once_are_all_answered() {
    let served = testing::start(service()).await.unwrap();
    let power = |n: u32| json!({"expression": format!("2^(1/{}) + 2000!", n + 2)});
    let calls = (0..8).map(|n| served.invoke("calculate", power(n)));
    let sum = served.invoke("calculate", json!({"expression": "1+1"}));
    let (costly, sum) = tokio::join!(futures_util::future::join_all(calls), sum);
    assert_eq!(sum.unwrap().content, "2");
    for output in costly {
        assert!(output.unwrap().content.ends_with("e+5735"));
    }
}

#[test]
fn it_describes_itself_with_its_limits_of_use() {
    let described = service().describe().unwrap();
    let tool = &described.tools[0];
    assert_eq!((described.service.as_str(), tool.name.as_str()), ("calculator", "calculate"));
    for words in ["Numbers that merely occur", "percent", "计算", "pmt(rate, periods, present)"] {
        assert!(tool.description.contains(words), "{words}");
    }
    assert!(tool.description.len() <= 4096, "{}", tool.description.len());
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
    assert_eq!(schema["required"], json!(["expression"]));
    assert_eq!(schema["properties"]["precision"]["maximum"], json!(1000));
    assert!(tool.annotations.unwrap().read_only);
    assert_eq!(tool.examples.len(), 3);
}
