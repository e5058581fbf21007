//! A removed session over real services: who is asked to forget it, how often, and who is given up.

use tonic::Status;

use super::*;
use crate::call::testing::*;

fn asked(keepers: &[(&str, &str, &str)]) -> ForgetAsked {
    let keeper = |(service, store, incarnation): &(&str, &str, &str)| Keeper {
        service: (*service).to_owned(),
        store: (*store).to_owned(),
        incarnation: (*incarnation).to_owned(),
    };
    let keepers = keepers.iter().map(keeper).collect();
    ForgetAsked { team: TEAM.to_owned(), session: "gone".into(), keepers, until_ms: 0 }
}

/// Far beyond what any of these tests takes.
fn late() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// The service of the scripted tools.
const SERVICE: &str = "service";

fn answers() -> Script {
    std::sync::Arc::new(|_, request| vec![output(request, "done")])
}

#[tokio::test]
async fn the_whole_session_is_named_and_asked_for_until_it_is_forgotten() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    service.set_refusals(vec![Status::unavailable("the disk is full")]);
    world.path.forget(&asked(&[(SERVICE, "", "incarnation-of-a")]), late()).await;
    let forgotten = service.forgotten();
    assert_eq!(forgotten.len(), 2, "once more after it was refused");
    let expected = ForgetRequest {
        team: TEAM.to_owned(),
        session: "gone".to_owned(),
        call_ids: Vec::new(),
        whole_session: true,
    };
    assert!(forgotten.iter().all(|asked| *asked == expected), "{forgotten:?}");
}

#[tokio::test]
async fn a_memory_is_gone_with_its_instance_and_a_refusal_for_good_ends_it() {
    let world = World::new(Setting::default());
    let service = world.serve("a", tools(), answers()).await;
    let gone = asked(&[(SERVICE, "", "incarnation-of-another"), ("nobody", "", "x")]);
    world.path.forget(&gone, late()).await;
    assert_eq!(service.forgotten().len(), 0);
    service.set_refusals(vec![Status::unimplemented("an old one")]);
    world.path.forget(&asked(&[(SERVICE, "", "incarnation-of-a")]), late()).await;
    assert_eq!(service.forgotten().len(), 1);
}

#[tokio::test]
async fn a_store_is_waited_for_until_it_is_back_or_has_expired() {
    let world = World::new(Setting::default());
    let first = world.serve("a", tools(), answers()).await;
    let kept = asked(&[(SERVICE, "store-of-b", "incarnation-of-before")]);
    world.path.forget(&kept, Instant::now()).await;
    assert_eq!(first.forgotten().len(), 0, "whoever has another store knows nothing of it");
    let back = async {
        let second = world.serve("b", tools(), answers()).await;
        world.told.change("b", |instance| instance.store = "store-of-b".to_owned());
        second
    };
    let ((), second) = tokio::join!(world.path.forget(&kept, late()), back);
    assert_eq!((first.forgotten().len(), second.forgotten().len()), (0, 1));
}
