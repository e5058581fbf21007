//! The files service: `read_file`, `list_dir`, `find_files`, `write_file` and
//! `edit_file`, one file for each.
//!
//! What other services share lies beside them: the walls of a workspace (`workspace.rs`, on
//! `beneath.rs` and `walk.rs`) and the one list of sensitive files (`sensitive.rs`). Nothing here
//! opens a file but through the walls. Who may call is decided by the kit and the orchestrator.

// The walls.
pub mod beneath;
pub mod glob;
pub mod meta;
mod nearest;
pub mod protected;
pub mod relative;
pub mod sensitive;
pub mod shown;
pub mod walk;
pub mod workspace;

// The tools, and what each stands on.
pub mod encoding;
mod read_file;
mod window;

mod find_files;
mod list_dir;
mod listing;

mod change;
mod diff;
mod edit_file;
mod replace;
mod under_way;
mod write_file;

pub mod answer;
mod blocking;

#[cfg(test)]
mod tests;

/// The service with its tools.
pub fn service() -> callboard_tool::Service {
    let under_way = under_way::UnderWay::default();
    callboard_tool::Service::new("files", env!("CARGO_PKG_VERSION"))
        .tool(read_file::ReadFile)
        .tool(list_dir::ListDir)
        .tool(find_files::FindFiles)
        .tool(write_file::WriteFile::new(under_way.clone()))
        .tool(edit_file::EditFile::new(under_way))
}
