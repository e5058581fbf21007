//! The `offline` planner, asked as people ask: many wordings in two languages, over values that are
//! drawn at random, against what Python, `grep`, `wc`, `ls` and `find` say.
//!
//! The wordings are in a file a group; how they are asked and judged is in `planner/table.rs`.

mod acts;
mod draw;
mod files;
mod folders;
mod money;
mod odd;
mod oracle;
mod replaced;
mod scene;
mod spoken;
mod steps;
mod sums;
mod table;
mod words;

#[tokio::test]
async fn sums_are_calculated() {
    table::check(&sums::INTENTS).await;
}

#[tokio::test]
async fn loans_and_savings_are_calculated() {
    table::check(&money::INTENTS).await;
}

#[tokio::test]
async fn a_file_is_read() {
    table::check(&files::INTENTS).await;
}

#[tokio::test]
async fn folders_are_looked_through() {
    table::check(&folders::INTENTS).await;
}

#[tokio::test]
async fn words_are_found_in_files() {
    table::check(&words::INTENTS).await;
}

#[tokio::test]
async fn files_are_written_and_commands_run_once_approved() {
    table::check(&acts::INTENTS).await;
}

#[tokio::test]
async fn several_steps_make_one_answer() {
    table::check(&steps::INTENTS).await;
}

#[tokio::test]
async fn sums_in_words_are_calculated() {
    table::check(&spoken::INTENTS).await;
}

#[tokio::test]
async fn more_than_can_be_done_is_refused_as_a_whole() {
    table::check(&spoken::LIMITS).await;
}

#[tokio::test]
async fn odd_names_and_passing_ones_are_files() {
    table::check(&odd::INTENTS).await;
    table::check(&odd::FOLDERS).await;
}
