import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Lists Live Activities and media sessions that have not expired, by token.
struct ActivitiesView: PageView {
    struct Activity: Decodable, Sendable {
        enum State: String, CaseIterable, Decodable {
            case registered, updated, ended
            case updateWaits = "update waits"
        }

        let app: String
        let token: String
        let state: State
        let registeredAt: Moment
        /// Media sessions need not have one.
        let endsAt: Moment?
        /// The timestamp in the last update that was sent.
        let updatedAt: Moment?
        let messageID: Int64?
        let waiting: Int64
        /// Of the token.
        let kind: String
        /// Counting stops at 100.
        var updates: Amount { Amount(waiting, .init(isCut: waiting >= 100)) }

        var mark: StateMark {
            switch state {
            case .updated: .good
            case .updateWaits: .attention
            case .registered, .ended: .quiet
            }
        }

        func json(_ tokens: TokenDisplay) -> JSONValue {
            [
                "app": app, "token": tokens.text(token), "state": state.rawValue, "registered_at": registeredAt,
                "ends_at": endsAt, "updated_at": updatedAt, "message_id": messageID, "waiting": waiting,
                "waiting_precision": updates.precision, "kind": kind,
            ]
        }
    }

    private static let maxRows = 100

    private static let statement = Statement(
        "web_activities",
        """
        SELECT n.app, n.token, n.state, n.registered_at, n.ends_at, n.updated_at, n.message_id, n.waiting, n.kind
        FROM carillon.newest_activities(\(maxRows)) AS n
        """
    )

    let activities: [Activity]
    let tokens: TokenDisplay

    init(from database: ServiceRunner, _ tokens: TokenDisplay) async throws {
        activities = try await database.values(of: Self.statement)
        self.tokens = tokens
    }

    var title: String { "Live Activities" }
    var section: PageSection { .activities }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("note")) {
            "Live Activities and media sessions that were registered with register_token and the kind live_activity or "
            "media_session, and have not expired. Updates to many Live Activities at once go through "
            HTML(.a, .href(PageSection.channels.link)) { "channels" }
            "."
        }
        DataTable(
            precision == .exact ? "Under way" : "The \(activities.count) that were registered last",
            activities,
            orSay: "There are none.",
            .text("App") { .app($0.app) },
            .text("Token") { tokens.html($0.token) },
            .text("Kind") { HTML($0.kind.replacing("_", with: " ")) },
            .text("State") { $0.mark.html($0.state.rawValue) },
            .number("Updates waiting") { Quantity.short($0.updates) },
            .text("Last update") { row in Self.lastUpdate(row) },
            .text("Registered") { $0.registeredAt.html },
            .text("Expires") { $0.endsAt?.html ?? HTML("–") }
        ).html
    }

    @HTMLBuilder private static func lastUpdate(_ row: Activity) -> HTML {
        if let message = row.messageID, let updatedAt = row.updatedAt {
            HTML.message(message, of: row.app)
            " "
            updatedAt.html
        } else {
            "–"
        }
    }

    private var precision: Amount.Precision { .init(isCut: activities.count == Self.maxRows) }

    var json: JSONValue { ["activities": activities.map { $0.json(tokens) }, "activities_precision": precision] }
}
