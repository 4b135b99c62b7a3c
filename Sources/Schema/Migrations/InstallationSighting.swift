package import CarillonPostgres

/// What a server says of itself: a row of `carillon.installation_state()`.
package struct InstallationSighting: Sendable {
    package static let statement = Statement(
        "installation_state",
        "SELECT p.fault, p.cluster, p.timeline, p.flushed FROM carillon.installation_state() AS p"
    )

    /// Why nothing may be sent from there.
    package let error: PostgresError?
    /// Nil if the server does not say.
    package let wal: WALPosition?

    package init(_ rows: borrowing Rows) throws(PostgresError) {
        error = try rows.stringIfPresent(0, "fault").map { fault in
            PostgresError(.closed, fault, hint: "to send pushes from here, run: carillon adopt")
        }
        guard let timeline = try rows.int32IfPresent(0, "timeline"), let flushed = try rows.int64IfPresent(0, "flushed")
        else {
            wal = nil
            return
        }
        wal = WALPosition(cluster: try rows.int64(0, "cluster"), timeline: timeline, flushed: flushed)
    }
}
