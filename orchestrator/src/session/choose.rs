//! A person's word on a call whose outcome is unknown. To repeat it is an input of its own: the new
//! call has its own id and walks the whole path, approval included.

use uuid::Uuid;

use super::{
    actor::SessionActor,
    error::{Refusal, SessionError},
    message::Wish,
    repeat::is_same_choice,
};
use crate::run::{
    choice,
    event::{Choice, Event, Input, InputReceived, OutcomeChosen},
    ids::RunId,
    state::MAX_WAITING,
};

impl SessionActor {
    pub(super) fn choose(&mut self, wish: Wish) -> Result<(bool, OutcomeChosen), SessionError> {
        let (run, call) = self.session.call_in_run(&wish.call).ok_or(Refusal::NotUnknown)?;
        if let Some(stands) = &call.chosen {
            return Ok((is_same_choice(stands, &wish)?, stands.clone()));
        }
        let planned = call.planned.clone().filter(|_| choice::is_unknown(call));
        let planned = planned.ok_or(Refusal::NotUnknown)?;
        let waiting = self.session.waiting.len();
        let is_repeat = wish.choice == Choice::Repeat;
        if is_repeat && waiting >= MAX_WAITING {
            return Err(Refusal::Full { waiting }.into());
        }
        let repeat_run =
            if is_repeat { Uuid::now_v7().to_string().into() } else { RunId::default() };
        let chosen = OutcomeChosen {
            run: run.input.run.clone(),
            call_id: wish.call,
            choice: wish.choice,
            repeat_run: repeat_run.clone(),
            by: wish.by.clone(),
            note: wish.note,
            key: wish.key,
            body_digest: wish.body_digest,
        };
        self.record(Event::OutcomeChosen(chosen.clone()));
        if is_repeat {
            self.trace_context = wish.trace_context;
            self.record(Event::InputReceived(InputReceived {
                run: repeat_run,
                input: Input::Direct { tool: planned.tool, arguments: planned.arguments },
                // Whoever wants it repeated can be asked about it.
                approver_attached: true,
                principal: wish.by,
                ..InputReceived::default()
            }));
        }
        Ok((true, chosen))
    }
}
