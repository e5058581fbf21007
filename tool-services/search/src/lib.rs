//! The search service: `search_text`, which finds lines in the files of a workspace.
//!
//! Where it may look is decided by the walls and the one list of sensitive files, which it shares
//! with the files service; how lines are matched is ripgrep's own crates' work. Reading order:
//! `search_text.rs` (the tool), `pattern.rs` (what to look for), `scan.rs` (one file), `hits.rs`
//! (what is kept of many), `report.rs` (how it is told).

mod hits;
mod pattern;
mod report;
mod scan;
mod search_text;

#[cfg(test)]
mod tests;

/// The service with its tool.
pub fn service() -> callboard_tool::Service {
    callboard_tool::Service::new("search", env!("CARGO_PKG_VERSION")).tool(search_text::SearchText)
}
