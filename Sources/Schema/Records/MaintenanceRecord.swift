import CarillonPostgres

/// A row of `maintenance`: a step, and how its last runs ended.
package struct MaintenanceRecord: Decodable, Sendable {
    static let statement = Statement(
        "maintenance_steps",
        """
        SELECT m.action || ' ' || m.target AS step,
            extract(epoch FROM now() - m.last_success)::int8 AS seconds_since_success,
            coalesce(m.last_failure > m.last_success, false) AS is_failing, m.last_error
        FROM carillon.maintenance m ORDER BY m.run_order
        """
    )

    /// Its action and its target, as in `make results`.
    package let step: String
    package let secondsSinceSuccess: Int64
    /// The last run failed.
    package let isFailing: Bool
    package let lastError: String?
}
