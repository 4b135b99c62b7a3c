import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Asks for confirmation before events are posted to a webhook again.
struct RedeliveryView: PageView {
    struct Found: Decodable, Sendable {
        let since: Moment
        let events: Int64
        let eventsPrecision: Amount.Precision
        /// Nothing is posted from this database until it is adopted.
        let isCopy: Bool
    }

    private static let count = Statement(
        "web_count_redelivery",
        """
        SELECT s.since, c.events, c.events_precision, carillon.installation_fault() IS NOT NULL AS is_copy FROM (SELECT now() - make_interval(secs => $2) AS since) s
        CROSS JOIN LATERAL carillon.count_redelivery($1, s.since) AS c
        """
    )
    /// As the command takes them.
    private static let times = Duration.seconds(1)...Duration.seconds(315_360_000)

    let name: String
    let found: Found

    init(from database: ServiceRunner, _ request: Request, _ viewer: Viewer) async throws {
        guard viewer.mayChange else { throw RequestError.mayNotChange(viewer) }
        guard let time = DurationText.read((request.filled("since") ?? "").trimmed), Self.times.contains(time) else {
            throw RequestError.badRequest("'since' is a time of up to 3650d, such as 90m, 2h or 3d.")
        }
        name = request.pathParameters["name"] ?? ""
        found = try await database.query(Self.count, Parameters(name, time.roundedSeconds)) { try $0.record(0) }
    }

    var title: String { "Post events again to \(name)" }
    var section: PageSection { .apps }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if found.events == 0, found.eventsPrecision == .exact {
            HTML(.p, .class("notice")) {
                "No event that this webhook follows has been stored since "
                found.since.html
                ", or none is stored any more."
            }
        } else {
            HTML(.p, .class("lead")) {
                "Post \(found.eventsPrecision.prefixed(Counted.text(found.events, "event"))) again, stored since "
                found.since.html
                "?"
            }
            HTML(.p, .class("note")) {
                "The receiver gets them with the same ids as before, and new events after them. If the webhook is paused, they wait "
                    + "until it is resumed. Events of the kind broadcast_finished are left out."
            }
            if found.isCopy {
                HTML(.p, .class("notice")) {
                    "This database is a copy: nothing is posted from it before 'carillon adopt'."
                }
            }
            ActionForm.html(
                Link("webhooks", name, "redeliver"),
                viewer,
                hidden: ["since": String(found.since.microseconds)]
            ) { ActionForm.button("Post again", isDangerous: true) }
        }
        HTML(.p) { HTML(.a, .href(.webhook(name))) { "Back to the webhook" } }
    }

    var json: JSONValue {
        ["name": name, "since": found.since, "events": found.events, "events_precision": found.eventsPrecision]
    }
}
