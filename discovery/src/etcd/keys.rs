//! Names and values of the keys: `<prefix>/services/<role>/<team>/<name>/<instance>` holds an
//! instance, `<prefix>/partitions/<n>` its owner. Both are bound to the registrant's lease.
//! `<prefix>/deployment` stays: the id of the deployment.

use serde::{Deserialize, Serialize};

use crate::{Error, Instance, InstanceId};

/// The root of all keys.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) services: String,
    pub(super) partitions: String,
    pub(super) deployment: String,
}

/// Value of a partition's key; read by other releases, fields are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claimed {
    pub(super) instance: InstanceId,
    #[serde(default)]
    pub(super) incarnation: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Result<Self, Error> {
        let root = prefix.trim_matches('/');
        if root.is_empty() {
            let reason = "it is empty; write a name as /callboard".to_owned();
            return Err(Error::Setting { key: "etcd prefix", reason });
        }
        Ok(Self {
            services: format!("/{root}/services/"),
            partitions: format!("/{root}/partitions/"),
            deployment: format!("/{root}/deployment"),
        })
    }

    pub(super) fn service(&self, instance: &Instance) -> Result<String, Error> {
        let Instance { id, role, team, name, .. } = instance;
        for (key, part) in [("team", team.as_str()), ("name", name), ("instance id", id.as_str())] {
            if part.is_empty() || part.contains('/') {
                let reason = format!("`{part}` is empty or holds a `/`");
                return Err(Error::Setting { key, reason });
            }
        }
        Ok(format!("{}{role}/{team}/{name}/{id}", self.services))
    }

    pub(super) fn partition(&self, partition: u32) -> String {
        format!("{}{partition}", self.partitions)
    }

    /// The partition that a key stands for.
    pub(super) fn partition_of(&self, key: &str) -> Option<u32> {
        key.strip_prefix(&self.partitions)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn keys_are_pinned() {
        for prefix in ["/callboard", "callboard/", "/callboard/"] {
            let keys = Keys::new(prefix).unwrap();
            assert_eq!(
                keys.service(&testing::instance("c-1")).unwrap(),
                "/callboard/services/tool/default/calculator/c-1"
            );
            assert_eq!(keys.partition(17), "/callboard/partitions/17");
            assert_eq!(keys.deployment, "/callboard/deployment");
            assert_eq!(keys.partition_of("/callboard/partitions/17"), Some(17));
            assert_eq!(keys.partition_of("/callboard/partitions/x"), None);
        }
        let claimed = Claimed { instance: "o-1".into(), incarnation: "i".into() };
        let text = r#"{"instance":"o-1","incarnation":"i"}"#;
        assert_eq!(serde_json::to_string(&claimed).unwrap(), text);
    }

    #[test]
    fn parts_that_would_break_a_key_are_refused() {
        assert!(Keys::new("/").is_err());
        let keys = Keys::new("a/b").unwrap();
        for (field, instance) in [
            ("team", Instance { team: "a/b".into(), ..testing::instance("c") }),
            ("name", Instance { name: String::new(), ..testing::instance("c") }),
            ("instance id", testing::instance("a/b")),
        ] {
            let error = keys.service(&instance).unwrap_err();
            assert!(matches!(error, Error::Setting { key, .. } if key == field), "{error}");
        }
    }
}
