//! Picks instances with what is known of them now; the choice itself is made in `pick`.

use std::sync::{Arc, Mutex, PoisonError};

use callboard_discovery::State;
use tokio::time::Instant;

use crate::call::CallContext;
use crate::call::eject::outliers;
use crate::call::pick::{Candidate, Wish, pick};
use crate::catalog::{Instance, Tool};

/// Draws the random numbers of all calls.
#[derive(Debug)]
pub(in crate::call) struct Chooser {
    random: Mutex<fastrand::Rng>,
}

impl Chooser {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// Picks an instance of a tool for a call.
    pub(in crate::call) fn pick(
        &self,
        tool: &Tool,
        context: &CallContext,
        avoid: Option<&str>,
    ) -> Option<Arc<Instance>> {
        let now = Instant::now();
        let rates: Vec<Option<f64>> =
            tool.instances.iter().map(|instance| instance.success_rate(now)).collect();
        let outliers = outliers(&rates);
        let candidates: Vec<Candidate<'_>> = tool
            .instances
            .iter()
            .zip(outliers)
            .map(|(instance, is_outlier)| Candidate {
                id: instance.id.as_str(),
                is_serving: instance.state == State::Serving,
                workspaces: &instance.workspaces,
                is_ejected: is_outlier || instance.is_ejected(now),
                cost: instance.cost(now),
            })
            .collect();
        let wish = Wish {
            workspace: &context.workspace,
            session: tool.descriptor.is_session_bound.then(|| context.session.as_str()),
            avoid,
        };
        let draw = self.with_random(|random| (random.u64(..), random.u64(..)));
        pick(&candidates, wish, draw).map(|nth| Arc::clone(&tool.instances[nth]))
    }

    /// A random number from 0 to 1.
    pub(in crate::call) fn draw(&self) -> f64 {
        self.with_random(fastrand::Rng::f64)
    }

    fn with_random<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
