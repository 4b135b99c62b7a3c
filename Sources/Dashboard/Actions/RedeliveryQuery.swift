import CarillonPostgres
import CarillonText
import CarillonWeb

/// Counts the events that would be posted to a webhook again, for the confirmation page.
struct RedeliveryQuery {
    private static let count = Statement(
        "web_count_redelivery",
        """
        SELECT s.since, c.events, c.events_precision, carillon.installation_fault() IS NOT NULL AS is_copy FROM (SELECT now() - make_interval(secs => $2) AS since) s
        CROSS JOIN LATERAL carillon.count_redelivery($1, s.since) AS c
        """
    )
    /// As the command takes them.
    private static let times = Duration.seconds(1)...Duration.seconds(315_360_000)

    let database: ServiceRunner
    let request: Request
    let viewer: Viewer

    func run() async throws -> RedeliveryView {
        guard viewer.mayChange else { throw RequestError.mayNotChange(viewer) }
        guard let time = DurationText.read((request.filled("since") ?? "").trimmed), Self.times.contains(time) else {
            throw RequestError.badRequest("'since' is a time of up to 3650d, such as 90m, 2h or 3d.")
        }
        let name = request.pathParameters["name"] ?? ""
        let found = try await database.query(Self.count, Parameters(name, time.roundedSeconds)) {
            try $0.record(0) as RedeliveryView.Found
        }
        return RedeliveryView(name: name, found: found)
    }
}
