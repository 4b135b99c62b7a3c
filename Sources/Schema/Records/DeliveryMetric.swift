package import CarillonPostgres
package import CarillonText

/// A row of `delivery_metrics`.
package struct DeliveryMetric: Record {
    private static let statement = Statement(
        "delivery_metrics",
        """
        SELECT m.app, m.day::text AS day, m.push_type, m.status, m.count, m.count_precision, m.is_delivery
        FROM carillon.delivery_metrics m
        WHERE ($1::text IS NULL OR m.app = $1) AND m.day > (now() - make_interval(secs => $2)) AT TIME ZONE 'UTC'
        ORDER BY m.day DESC, m.app, m.push_type, m.status
        """
    )

    package let app: String
    package let day: String
    package let pushType: String
    package let status: String
    /// Nil: Apple hides it.
    package let count: Int64?
    package let json: JSONValue

    /// - Parameters:
    ///   - app: nil for all.
    ///   - since: how far to look back.
    package static func all(
        of app: String?,
        since: Duration,
        from database: some StatementRunner
    ) async throws -> [DeliveryMetric] {
        try await database.values(of: statement, Parameters(app, Double(since.components.seconds)))
    }
}
