import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The history of a message, and an explanation in plain words for somebody who did not get it.
struct MessageView: PageView {
    private static let maxFailures = 200
    private static let maxFlights = 50
    /// The maximum number of failures of a message that are read: a broadcast may have a million.
    private static let failureDepth = 2_000

    private static let flights = Statement(
        "web_message_flights",
        """
        SELECT p.id AS job, p.claimed_at, p.attempt, p.token_count AS tokens, w.name AS worker
        FROM carillon.pending p LEFT JOIN carillon.workers w ON w.id = p.worker_id
        WHERE p.state = 'in flight' AND p.app IS NOT DISTINCT FROM $2
            AND (p.id = $1 OR p.origin = $1 OR p.broadcast_id = $1)
        ORDER BY p.claimed_at LIMIT \(maxFlights)
        """
    )
    /// $1: the id of the whole message; $2: the name of its app, or null if the app was removed. Includes one failure of each
    /// reason.
    private static let failures = Statement(
        "web_message_failures",
        """
        SELECT \(FailureRecord.columns), f.of_reason
        FROM (
            SELECT * FROM (
                SELECT seen.*, count(*) OVER (PARTITION BY seen.status, seen.reason) AS of_reason,
                    row_number() OVER (PARTITION BY seen.status, seen.reason ORDER BY seen.failed_at DESC) AS place
                FROM (SELECT (SELECT a.id FROM carillon.apps a WHERE a.name = $2) AS id) a CROSS JOIN LATERAL (
                    SELECT of_job.* FROM carillon.failed_jobs(a.id, $1, \(WorkerResults.jobDepth)) job CROSS JOIN LATERAL (
                        SELECT * FROM carillon.failures f WHERE f.message_id = job.message_id AND ($2 IS NULL OR f.app_id = a.id)
                        LIMIT \(failureDepth)) of_job
                    LIMIT \(failureDepth)) seen
            ) ranked
            ORDER BY ranked.place > 1, ranked.failed_at DESC LIMIT \(maxFailures)
        ) f CROSS JOIN (SELECT $2 AS name) a
        ORDER BY f.failed_at DESC, f.token
        """
    )

    let message: MessageStatus
    let flights: [MessageFlight]
    let failures: [MessageFailure]
    let workers: [WorkerResults]
    /// Nil if the viewer may not see the content.
    let contents: MessageContents?
    let tokens: TokenDisplay

    init(_ message: MessageStatus, from database: ServiceRunner, _ tokens: TokenDisplay) async throws {
        let parameters = Parameters(message.id, message.app)
        async let claimed: [MessageFlight] = database.values(of: Self.flights, parameters)
        async let failed: [MessageFailure] = database.values(of: Self.failures, parameters)
        async let results: [WorkerResults] = database.values(of: WorkerResults.statement, parameters)
        async let shown = tokens.isWhole ? MessageContents.of(message, from: database) : nil
        self.message = message
        flights = try await claimed
        failures = try await failed
        workers = try await results
        contents = try await shown
        self.tokens = tokens
    }

    var title: String { "Message \(message.id)" }
    var section: PageSection { .trace }
    var refreshInterval: Int? { message.waiting > 0 ? 2 : nil }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("lead")) {
            StateMark.ofMessage(message.state).html(message.state.rawValue)
            " "
            if let app = message.app {
                HTML.app(app)
            } else {
                "an app that is gone"
            }
            if let reference = message.reference { HTML(.span, .class("note")) { " reference \(reference)" } }
        }
        HTML(.ul, .class("story")) {
            for sentence in MessageStory(message: message, failures: failures).sentences { HTML(.li) { sentence } }
        }
        Tiles(
            .init("Tokens", Quantity.short(message.tokens)),
            .init("Sent", Quantity.short(Int64(message.ended.sent)), mark: message.ended.sent > 0 ? .good : .quiet),
            .init(
                "Failed",
                Quantity.short(Int64(message.ended.failed)),
                mark: message.ended.failed > 0 ? .bad : .quiet
            ),
            .init("Expired", Quantity.short(Int64(message.ended.expired))),
            .init("Cancelled", Quantity.short(Int64(message.ended.cancelled))),
            .init("Waiting", Quantity.short(Int64(message.waiting)), mark: message.waiting > 0 ? .attention : .quiet),
            .init("Attempts", String(message.attempts ?? 0), note: "the most for any push")
        ).html
        if viewer.mayChange, message.waiting > 0 {
            HTML(.p, .class("buttons")) {
                HTML(.a, .href(Link("messages", String(message.id), "cancel", query: ["app": message.app]))) {
                    "Cancel what is left"
                }
            }
        }
        HTML(.h2) { "Timeline" }
        timeline
        if let contents { contents.html }
        if !failures.isEmpty { failureTable }
        if !waiting.isEmpty {
            DataTable(
                "Pushes that wait",
                waiting,
                .text("Token") { tokens.html($0.token) },
                .text("State") { StateMark.ofMessage($0.state).html($0.state.rawValue) },
                .text("Last answer") { HTML($0.answer) }
            ).html
        }
    }

    /// Some of the tokens that wait; failed tokens have their own table.
    private var waiting: [MessageStatus.TokenOutcome] {
        Array(message.tokenOutcomes.filter { $0.state != .failed && !$0.wasSent }.prefix(100))
    }

    private var timeline: HTML {
        let whole = MessageTimeline(message: message, flights: flights, failures: failures, workers: workers)
        return HTML.timeline(whole.events) { event in
            (event.mark, event.at?.html ?? HTML(event.isNow ? "now" : "time not recorded"), HTML(event.text))
        }
    }

    @HTMLBuilder private var failureTable: HTML {
        DataTable(
            "Pushes that failed",
            failures.map(\.record),
            .text("Failed") { $0.failedAt.html },
            .text("Token") { tokens.html($0.token) },
            .text("Answer") { HTML($0.answer) },
            .number("Attempt") { String($0.attempt) },
            .text("Dead since") { $0.unregisteredAt?.html ?? HTML("–") },
            .text("Requeued") { $0.requeuedAt?.html ?? HTML("–") },
            .text("apns-id") { failure in failure.apnsID.map { id in HTML(.code) { id } } ?? HTML("–") }
        ).html
        if message.ended.failed > failures.count {
            HTML(.p, .class("note")) { "\(failures.count.grouped) of \(message.ended.failed.grouped)." }
        }
    }

    var json: JSONValue {
        let events: JSONValue = [
            "explanation": MessageStory(message: message, failures: failures).sentences, "in_flight": flights,
            "in_flight_precision": Amount.Precision(isCut: flights.count == Self.maxFlights),
            "workers": workers,
            "workers_precision": Amount.Precision(
                isCut: workers.count == WorkerResults.maxRows || workers.contains { $0.jobsPrecision != .exact }
            ),
            "failures": failures.map { $0.record.json(tokens) },
            "failures_precision": Amount.Precision(
                isCut: failures.count == Self.maxFailures || message.ended.failed > failures.count
            ),
            "contents": contents?.json,
        ]
        return .joined(message.json.without("outcomes"), events)
    }
}
