//! The catalog over real services: it follows, asks once, and lets nobody hold it up.

use std::sync::Arc;
use std::time::Duration;

use callboard_discovery::State;
use tokio::net::UnixListener;

use crate::call::testing::{
    Script, Scripted, Setting, TEAM, World, context, digest_of, output, record, silent, tool, tools,
};
use crate::run::event::Event;

fn answers() -> Script {
    Arc::new(|_, request| vec![output(request, "x")])
}

#[tokio::test]
async fn instances_come_drain_and_go_and_keep_what_is_known_of_them() {
    let world = World::new(Setting::default());
    let _service = world.serve("a", tools(), answers()).await;
    let view = world.path.catalog().snapshot();
    let names: Vec<String> = view.tools(TEAM).iter().map(|t| t.descriptor.name.clone()).collect();
    assert_eq!(names, ["find_tools", "read", "read_artifact", "repeat", "write"]);
    let busy = view.instances_of(TEAM, "service")[0].enter();
    world.told.change("a", |instance| instance.state = State::Draining);
    world
        .until(|view| {
            view.instances_of(TEAM, "service").iter().all(|one| one.state == State::Draining)
        })
        .await;
    let view = world.path.catalog().snapshot();
    assert_eq!(view.instances_of(TEAM, "service")[0].in_flight(), 1, "the same copy");
    drop(busy);
    assert_eq!(view.instances_of(TEAM, "service")[0].in_flight(), 0);
    // Another start under the same id is another copy.
    world.told.change("a", |instance| {
        instance.incarnation = "another".to_owned();
        instance.state = State::Serving;
    });
    world
        .until(|view| {
            view.instances_of(TEAM, "service").iter().all(|one| one.incarnation == "another")
        })
        .await;
    world.told.remove("a");
    world.until(|view| view.instances_of(TEAM, "service").is_empty()).await;
    let view = world.path.catalog().snapshot();
    assert_eq!(view.tool(TEAM, "read").unwrap().withheld, "no instance of its service is alive");
}

#[tokio::test]
async fn a_service_that_never_answers_holds_up_nobody() {
    let world = World::new(Setting::default());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("silent.sock");
    // Accepts, and never says a word.
    let silent = UnixListener::bind(&socket).unwrap();
    let mut record = record("silent", &socket, "unknown");
    record.name = "silent".to_owned();
    world.told.add(record);
    let service =
        crate::call::testing::Scripted::start(&folder.path().join("a.sock"), tools(), answers());
    world.told.add(crate::call::testing::record(
        "a",
        &folder.path().join("a.sock"),
        service.digest(),
    ));
    world.until(|view| view.tool(TEAM, "read").is_some()).await;
    let view = world.path.catalog().snapshot();
    assert!(!view.ready(), "the silent one is still being asked");
    drop(silent);
    world.until(crate::catalog::Snapshot::ready).await;
    let view = world.path.catalog().snapshot();
    let problem = view.services().iter().find(|service| service.name == "silent").unwrap();
    assert!(problem.problem.starts_with("it does not describe itself"), "{}", problem.problem);
    assert!(view.tool(TEAM, "read").unwrap().withheld.is_empty());
}

#[tokio::test]
async fn a_service_that_could_not_answer_at_first_is_asked_again() {
    let world = World::new(Setting::default());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("late.sock");
    let digest = {
        let probe = crate::call::testing::Scripted::start(
            &folder.path().join("p.sock"),
            tools(),
            answers(),
        );
        probe.digest().to_owned()
    };
    world.told.add(record("late", &socket, &digest));
    world.until(|view| view.services().iter().any(|service| !service.problem.is_empty())).await;
    let _service = crate::call::testing::Scripted::start(&socket, tools(), answers());
    world.until(|view| view.tool(TEAM, "read").is_some_and(|tool| tool.withheld.is_empty())).await;
    assert_eq!(world.path.catalog().snapshot().services()[0].problem, "");
}

#[tokio::test]
async fn a_bad_schema_withholds_its_tool_alone() {
    let world = World::new(Setting::default());
    let mut bad = tool("bad", true, true);
    bad.input_schema = r#"{"properties":{"v":{"$ref":"http://127.0.0.1:1/s.json"}}}"#.to_owned();
    let _service = world.serve("a", vec![bad, tool("good", true, true)], answers()).await;
    let view = world.path.catalog().snapshot();
    assert!(view.tool(TEAM, "bad").unwrap().withheld.contains("leads out of the schema"));
    assert!(view.tool(TEAM, "good").unwrap().withheld.is_empty());
    let offered = view.select(TEAM, "anything", &[], 16);
    assert!(offered.iter().all(|tool| tool.descriptor.name != "bad"));
}

#[tokio::test]
async fn waiting_for_the_catalog_ends_when_everybody_was_asked() {
    let world = World::new(Setting::default());
    let _service = world.serve("a", tools(), answers()).await;
    let ready = world.path.catalog().ready();
    tokio::time::timeout(Duration::from_secs(20), ready).await.unwrap();
}

/// Its next process registers before it has answered anything.
async fn restarted(world: &World, digest: &str) -> std::os::unix::net::UnixListener {
    let first = world.serve("a", tools(), answers()).await;
    drop(first);
    world.told.remove("a");
    world.until(|view| view.instances_of(TEAM, "service").is_empty()).await;
    let socket = world.folder.path().join("next.sock");
    let silent = silent(&socket);
    world.told.add(record("next", &socket, digest));
    world.until(|view| !view.instances_of(TEAM, "service").is_empty()).await;
    silent
}

#[tokio::test]
async fn a_service_that_is_back_as_it_was_need_not_say_so_again() {
    let world = World::new(Setting::default());
    let _silent = restarted(&world, &digest_of(&tools())).await;
    let view = world.path.catalog().snapshot();
    assert!(view.ready());
    let read = view.tool(TEAM, "read").expect("it is known");
    assert_eq!(read.withheld, "");
    assert_eq!(read.instances[0].id.as_str(), "next");
}

#[tokio::test]
async fn what_a_service_offered_is_known_until_its_next_version_says_what_it_offers() {
    let world = World::new(Setting::default());
    let next = vec![tool("read", true, true), tool("look", true, true)];
    let silent = restarted(&world, &digest_of(&next)).await;
    let view = world.path.catalog().snapshot();
    assert!(!view.ready());
    for name in ["read", "write"] {
        let withheld = &view.tool(TEAM, name).expect("it is known").withheld;
        assert_eq!(withheld, "its service has not said yet what it offers");
    }
    let _service = Scripted::on(silent, next, answers());
    world.until(|view| view.tool(TEAM, "look").is_some()).await;
    let view = world.path.catalog().snapshot();
    assert_eq!(view.tool(TEAM, "read").unwrap().withheld, "");
    assert!(view.tool(TEAM, "write").is_none(), "it is offered no more");
}

#[tokio::test]
async fn a_name_that_nobody_knows_yet_is_waited_for_while_a_service_is_asked() {
    let world = World::new(Setting::default());
    let socket = world.folder.path().join("slow.sock");
    let silent = silent(&socket);
    world.told.add(record("slow", &socket, &digest_of(&tools())));
    world.until(|view| !view.ready()).await;
    let context = context();
    let (events, _service) = tokio::join!(
        biased;
        world.judge("read", "{}", &context),
        async { Scripted::on(silent, tools(), answers()) }
    );
    let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["call.planned", "call.judged"]);
    // Now that everybody has said what there is, an unknown name is one at once.
    let begun = tokio::time::Instant::now();
    let events = world.judge("raed", "{}", &context).await;
    assert_eq!(events.iter().map(Event::kind).collect::<Vec<_>>(), ["call.settled"]);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
