//! What a test draws at random: numbers and names that nobody has seen before. The seed is the
//! time's unless `PLANNER_SEED` says another; a failure prints it.

use std::{collections::BTreeSet, time::SystemTime};

/// Words for names and for the text of files. No word is a part of another.
const WORDS: [&str; 48] = [
    "amber", "basket", "canyon", "dolphin", "ember", "falcon", "garnet", "harbour", "island",
    "jasmine", "kettle", "lantern", "meadow", "nectar", "orchard", "pebble", "quarry", "ribbon",
    "saddle", "thistle", "umbrella", "velvet", "walnut", "yonder", "zephyr", "anchor", "bramble",
    "cobalt", "drizzle", "engine", "fiddle", "glacier", "hazel", "ivory", "jungle", "kayak",
    "lagoon", "maple", "nutmeg", "opal", "prairie", "quiver", "rocket", "sphinx", "tundra",
    "vortex", "willow", "yeast",
];

/// Names that mean something in a request, too.
const AWKWARD: [&str; 12] = [
    "search", "tests", "reports", "tools", "shell", "write", "run", "list", "count", "sums",
    "readers", "v1.2",
];

/// Words that are only where they were put.
const RARE: [&str; 12] = [
    "quorum",
    "fencing",
    "heartbeat",
    "retention",
    "backpressure",
    "idempotency",
    "migration",
    "throttle",
    "eviction",
    "deadlock",
    "telemetry",
    "checksum",
];

/// As above, in Chinese.
const RARE_CHINESE: [&str; 6] = ["超时", "预算", "验收", "排期", "迁移", "备份"];

/// For names of files.
const TITLES: [&str; 5] = ["会议纪要", "周报", "读书笔记", "采购清单", "说明"];

/// For names of folders.
const FOLDERS: [&str; 5] = ["资料", "合同", "档案", "素材", "图纸"];

/// A value of a wording: as the prompt shows it, and as the oracle gets it.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) shown: String,
    pub(super) plain: String,
}

/// Values by the name of their place in a wording.
pub(super) type Values = Vec<(&'static str, Value)>;

/// A value that the oracle gets as the prompt shows it.
pub(super) fn same(text: impl Into<String>) -> Value {
    let shown = text.into();
    Value { plain: shown.clone(), shown }
}

/// The source of everything that is drawn.
pub(super) struct Draw {
    random: fastrand::Rng,
    seed: u64,
    used: BTreeSet<String>,
}

impl Draw {
    pub(super) fn new() -> Self {
        let seed = std::env::var("PLANNER_SEED").ok().map_or_else(
            || {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
                u64::from(now.subsec_nanos()) ^ now.as_secs() << 20
            },
            |seed| seed.parse().expect("PLANNER_SEED is a number"),
        );
        Self { random: fastrand::Rng::with_seed(seed), seed, used: BTreeSet::new() }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// A whole number of that range, both ends included.
    pub(super) fn whole(&mut self, from: u64, to: u64) -> u64 {
        self.random.u64(from..=to)
    }

    pub(super) fn number(&mut self, from: u64, to: u64) -> Value {
        same(self.whole(from, to).to_string())
    }

    /// A number with one or two decimals, such as a rate; `from` and `to` are whole.
    pub(super) fn decimal(&mut self, from: u64, to: u64) -> Value {
        let whole = self.whole(from, to - 1);
        let digits = self.pick(&["", ".5", ".25", ".75", ".1", ".85", ".35"]);
        same(format!("{whole}{digits}"))
    }

    /// A round sum of money, some of them written with thousands separators.
    pub(super) fn money(&mut self) -> Value {
        let plain = (self.whole(21, 1999) * 500).to_string();
        let grouped = format!("{},{}", &plain[..plain.len() - 3], &plain[plain.len() - 3..]);
        let shown = if self.random.bool() { grouped } else { plain.clone() };
        Value { shown, plain }
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.usize(..from.len())].clone()
    }

    pub(super) fn coin(&mut self) -> bool {
        self.random.bool()
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        self.random.shuffle(list);
    }

    pub(super) fn word(&mut self) -> &'static str {
        self.pick(&WORDS)
    }

    /// A word that the text of files holds only where a test puts it.
    pub(super) fn rare(&mut self, is_chinese: bool) -> &'static str {
        if is_chinese { self.pick(&RARE_CHINESE) } else { self.pick(&RARE) }
    }

    /// A name that was not drawn before and is no part of one.
    pub(super) fn name(&mut self) -> String {
        loop {
            let (word, number) = (self.word(), self.whole(10, 99));
            let name = match self.whole(0, 6) {
                6 => self.pick(&AWKWARD).to_owned(),
                0 | 1 => word.to_owned(),
                2 => format!("{word}-{number}"),
                3 => format!("{word}_{}", self.word()),
                4 => format!("{word}-{}", self.word()),
                _ => format!("{word}{number}"),
            };
            let is_new =
                self.used.iter().all(|other| !other.contains(&name) && !name.contains(other));
            if is_new {
                self.used.insert(name.clone());
                return name;
            }
        }
    }

    /// A name of a folder that means something in a request, too; any name if all are used.
    pub(super) fn awkward(&mut self) -> String {
        let is_free = |name: &&str| {
            !self.used.iter().any(|other| other.contains(name) || name.contains(other.as_str()))
        };
        let free: Vec<&str> = AWKWARD.into_iter().filter(is_free).collect();
        if free.is_empty() {
            return self.name();
        }
        let name = self.pick(&free).to_owned();
        self.used.insert(name.clone());
        name
    }

    /// A Chinese name of a folder.
    pub(super) fn chinese_name(&mut self) -> &'static str {
        self.pick(&FOLDERS)
    }

    /// A Chinese name.
    pub(super) fn title(&mut self) -> String {
        format!("{}{}", self.pick(&TITLES), self.whole(100, 999))
    }

    /// A line of prose without rare words.
    pub(super) fn line(&mut self) -> String {
        let count = self.whole(2, 8);
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}
