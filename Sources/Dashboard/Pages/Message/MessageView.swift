import CarillonSchema
import CarillonText
import CarillonWeb

/// The history of a message, and an explanation in plain words for somebody who did not get it.
struct MessageView: PageView {
    let message: MessageStatus
    let flights: [MessageFlight]
    let failures: [MessageFailure]
    let workers: [WorkerResults]
    /// Nil if the viewer may not see the content.
    let contents: MessageContents?
    let tokens: TokenDisplay

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
            "in_flight_precision": Amount.Precision(isCut: flights.count == MessageQuery.maxFlights),
            "workers": workers,
            "workers_precision": Amount.Precision(
                isCut: workers.count == WorkerResults.maxRows || workers.contains { $0.jobsPrecision != .exact }
            ),
            "failures": failures.map { $0.record.json(tokens) },
            "failures_precision": Amount.Precision(
                isCut: failures.count == MessageQuery.maxFailures || message.ended.failed > failures.count
            ),
            "contents": contents?.json,
        ]
        return .joined(message.json.without("outcomes"), events)
    }
}
