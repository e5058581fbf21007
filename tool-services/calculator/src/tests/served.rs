use callboard_tool::testing;
use serde_json::{Value, json};

use crate::service;

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
