//! A session that stands for one that was removed: all that is left to do is to have its calls
//! forgotten. It takes no input, so nothing but that ever happens in it.

use super::{event::ForgetAsked, state::Session};

impl Session {
    pub(super) fn ask_forget(&mut self, asked: &ForgetAsked) -> Result<(), &'static str> {
        let is_fresh = self.is_idle() && self.ended.is_empty() && self.rollbacks.is_empty();
        if self.opened.is_none() || !is_fresh {
            return Err("something else happened in the session");
        }
        self.forget = Some(Box::new(asked.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{
        effect::Effect,
        event::{Event, InputReceived, Keeper, OwnerTaken, Recorded, SessionOpened},
    };

    fn fold(events: Vec<Event>) -> Result<Session, super::super::state::ApplyError> {
        let mut session = Session::default();
        for (seq, event) in (1..).zip(events) {
            let trace_context = String::new();
            session.apply(&Recorded { seq, wall_ms: 7, elapsed_ms: 0, trace_context, event })?;
        }
        Ok(session)
    }

    fn asked() -> Event {
        let keepers = vec![Keeper { service: "files".to_owned(), ..Keeper::default() }];
        let (team, session) = ("t".to_owned(), "gone".into());
        Event::ForgetAsked(ForgetAsked { team, session, keepers, until_ms: 9 })
    }

    #[test]
    fn it_has_calls_forgotten_until_it_is_removed_itself() {
        let taken = Event::OwnerTaken(OwnerTaken { owner: "next".to_owned() });
        let opened = Event::SessionOpened(SessionOpened::default());
        let session = fold(vec![opened, asked(), taken]).unwrap();
        assert_eq!(session.next(), [Effect::Forget]);
        assert!(!session.is_idle());
    }

    #[test]
    fn nothing_else_happens_in_it() {
        let opened = || Event::SessionOpened(SessionOpened::default());
        let input = || Event::InputReceived(InputReceived::default());
        assert!(fold(vec![opened(), input(), asked()]).is_err());
        assert!(fold(vec![asked()]).is_err());
        assert!(fold(vec![opened(), asked(), asked()]).is_err());
        assert!(fold(vec![opened(), asked(), input()]).is_err());
    }
}
