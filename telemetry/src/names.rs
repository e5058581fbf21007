//! Every span, attribute and metric name, with its unit. GenAI names follow OpenTelemetry's
//! conventions <https://opentelemetry.io/docs/specs/semconv/gen-ai/> (still in development), ours
//! start with `callboard.`. Who sets which is in `span.rs` and `metrics.rs`.

/// Span of a run: `invoke_agent {agent}`.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Span of a model call: `chat {model}`.
pub const CHAT: &str = "chat";
/// Span of a tool call, and of its execution in the service: `execute_tool {tool}`.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Span of an attempt, from the second on: `attempt {n}`.
pub const ATTEMPT: &str = "attempt";

/// What a span does: one of the span names above.
pub const OPERATION: &str = "gen_ai.operation.name";
/// Name of the agent.
pub const AGENT: &str = "gen_ai.agent.name";
/// The session.
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// Who offers the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// Model asked for.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// Model that answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why the model stopped.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Input tokens as the provider counts them.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Output tokens as the provider counts them.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Whether tokens of a measurement are `input` or `output`.
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
/// Name of a tool.
pub const TOOL: &str = "gen_ai.tool.name";
/// Id of a tool call.
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// Arguments of a tool call; only where content is captured.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// Result of a tool call; only where content is captured.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// What the model was given; only where content is captured.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// What the model said; only where content is captured.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";

/// The run.
pub const RUN: &str = "callboard.run.id";
/// Team that owns the session.
pub const TEAM: &str = "callboard.team";
/// How a run or a call ended.
pub const STATUS: &str = "callboard.status";
/// Verdict on a call.
pub const VERDICT: &str = "callboard.verdict";
/// Rule that gave the verdict.
pub const RULE: &str = "callboard.rule";
/// Attempts that a call took.
pub const ATTEMPTS: &str = "callboard.attempts";
/// Milliseconds that a call waited for a place or its rate.
pub const WAITED: &str = "callboard.waited_ms";
/// A tool service.
pub const SERVICE: &str = "callboard.service";
/// Instance that an attempt went to.
pub const INSTANCE: &str = "callboard.instance.id";
/// Number of an attempt, from 1.
pub const ATTEMPT_NUMBER: &str = "callboard.attempt";
/// Decision on an approval.
pub const DECISION: &str = "callboard.decision";
/// Role of an instance in discovery.
pub const ROLE: &str = "callboard.role";
/// What was dropped, and why a stream was ended.
pub const REASON: &str = "callboard.reason";

/// Kind of an error: a status, or the kind of a failure.
pub const ERROR_TYPE: &str = "error.type";
/// HTTP method; `_OTHER` for unknown ones.
pub const HTTP_METHOD: &str = "http.request.method";
/// Route that matched, with its placeholders.
pub const HTTP_ROUTE: &str = "http.route";
/// HTTP status.
pub const HTTP_STATUS: &str = "http.response.status_code";
/// Always `grpc`.
pub const RPC_SYSTEM: &str = "rpc.system";
/// Full name of the gRPC service.
pub const RPC_SERVICE: &str = "rpc.service";
/// gRPC method.
pub const RPC_METHOD: &str = "rpc.method";
/// gRPC status, a number.
pub const RPC_STATUS: &str = "rpc.grpc.status_code";

/// Runs that ended, by status.
pub const RUNS: &str = "callboard.runs";
/// Runs that work now.
pub const RUNS_ACTIVE: &str = "callboard.runs.active";
/// Seconds from start to end of a run, by status.
pub const RUN_DURATION: &str = "callboard.run.duration";
/// Steps of a run, by status.
pub const RUN_STEPS: &str = "callboard.run.steps";
/// Seconds of a model call, by model and error.
pub const MODEL_DURATION: &str = "gen_ai.client.operation.duration";
/// Tokens of a model call, by model and type.
pub const MODEL_TOKENS: &str = "gen_ai.client.token.usage";
/// Seconds from planned to settled of a tool call, by tool and status.
pub const TOOL_CALL_DURATION: &str = "callboard.tool_call.duration";
/// Seconds of an attempt, by service and status.
pub const ATTEMPT_DURATION: &str = "callboard.attempt.duration";
/// Seconds of a tool's own work inside its service, by tool and status.
pub const TOOL_DURATION: &str = "callboard.tool.duration";
/// Calls that a tool service works on now.
pub const TOOL_ACTIVE: &str = "callboard.tool.active";
/// Seconds that a person took to decide, by decision.
pub const APPROVAL_WAIT: &str = "callboard.approval.wait";
/// Seconds of one append to the journal.
pub const APPEND_DURATION: &str = "callboard.journal.append.duration";
/// Transactions of the journal, each with one sync.
pub const JOURNAL_COMMITS: &str = "callboard.journal.commits";
/// Appends that those transactions hold.
pub const JOURNAL_APPENDS: &str = "callboard.journal.appends";
/// Events appended to the journal.
pub const APPEND_EVENTS: &str = "callboard.journal.events";
/// Sessions in memory.
pub const SESSIONS: &str = "callboard.sessions.resident";
/// Partitions owned.
pub const PARTITIONS: &str = "callboard.partitions.owned";
/// Live instances as seen by this process, by role.
pub const INSTANCES: &str = "callboard.discovery.instances";
/// 1 while discovery answers, 0 while the last known view is used.
pub const DISCOVERY_CONFIRMED: &str = "callboard.discovery.confirmed";
/// Seconds until the head of an HTTP answer, by method, route and status.
pub const HTTP_DURATION: &str = "http.server.request.duration";
/// Seconds until the head of a gRPC answer, by service, method and status.
pub const RPC_DURATION: &str = "rpc.server.call.duration";
/// Event streams open now.
pub const STREAMS: &str = "callboard.streams.open";
/// Event streams that ended early, by reason.
pub const STREAMS_CUT: &str = "callboard.streams.cut";
/// Spans that were not exported, by reason.
pub const SPANS_DROPPED: &str = "callboard.telemetry.spans_dropped";
/// Log lines that were not written.
pub const LINES_DROPPED: &str = "callboard.telemetry.lines_dropped";
/// Resident memory of this process in bytes.
pub const MEMORY: &str = "process.memory.usage";
