//! The rules that stand: replaced as a whole while calls are judged, and never by rules that cannot be
//! read.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Config, Policy, Profile};
use crate::call::config::Error;

/// Rules as they were read again, or why they could not be.
pub type RulesRead = Result<Config, String>;

/// The rules that stand, and why newer ones do not.
#[derive(Debug)]
pub struct Rulebook {
    profile: Profile,
    standing: RwLock<Standing>,
}

/// What stands at one moment.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The rules, ready to judge.
    pub policy: Arc<Policy>,
    /// As they are written.
    pub config: Arc<Config>,
    /// Why the rules that were written last do not stand; empty if they do.
    pub refused: String,
}

impl Rulebook {
    /// A book with these rules.
    ///
    /// # Errors
    /// A rule that cannot be read.
    pub fn new(config: Config, profile: Profile) -> Result<Self, Error> {
        let policy = Arc::new(Policy::new(&config, profile)?);
        let standing = Standing { policy, config: Arc::new(config), refused: String::new() };
        Ok(Self { profile, standing: RwLock::new(standing) })
    }

    /// What happens to changing calls that no rule matches.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The rules that stand now.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.standing.read().unwrap_or_else(PoisonError::into_inner).policy)
    }

    /// The same, with what is known about them.
    pub fn standing(&self) -> Standing {
        self.standing.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts new rules in force, or keeps the old ones and says why. Calls that were judged keep
    /// their verdict.
    pub fn replace(&self, read: RulesRead) {
        let compiled = read.and_then(|config| match Policy::new(&config, self.profile) {
            Ok(policy) => Ok((Arc::new(policy), Arc::new(config))),
            Err(error) => Err(error.to_string()),
        });
        let mut standing = self.standing.write().unwrap_or_else(PoisonError::into_inner);
        match compiled {
            Ok((policy, config)) => {
                tracing::info!(rules = config.rules.len(), "other rules are in force");
                *standing = Standing { policy, config, refused: String::new() };
            }
            Err(why) => {
                tracing::warn!(why, "the rules in force stay; those that were written are refused");
                standing.refused = why;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;
    use crate::run::event::Verdict;

    fn rules(condition: &str) -> Config {
        let rule = Rule { condition: condition.to_owned(), ..Rule::of(Verdict::Block) };
        Config { rules: vec![rule] }
    }

    #[test]
    fn rules_that_cannot_be_read_do_not_replace_those_that_stand() {
        let book = Rulebook::new(rules("true"), Profile::Production).unwrap();
        book.replace(Ok(rules("args.")));
        let standing = book.standing();
        assert_eq!(*standing.config, rules("true"));
        assert!(standing.refused.contains("rules[0].condition"), "{}", standing.refused);
        book.replace(Err("there is no such file".to_owned()));
        assert_eq!(book.standing().refused, "there is no such file");
        book.replace(Ok(rules("false")));
        let standing = book.standing();
        assert_eq!((&*standing.config, standing.refused.as_str()), (&rules("false"), ""));
    }
}
