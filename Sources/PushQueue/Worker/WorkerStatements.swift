import CarillonPostgres

/// Statements of a worker. Each is a transaction of its own.
enum WorkerStatements {
    /// The time of each push; null: it has ended as superseded. Null in place of the list: the claim was taken over.
    static let orderUpdates = Statement("order_updates", "SELECT carillon.order_updates($1, $2, $3, $4, $5, $6)")

    /// For each push 0: it is sent; -1: it is sent later; null: it has ended as superseded. Then how many others have ended so.
    /// Null in place of the list: the claim was taken over.
    static let paceDevices = Statement("pace_devices", "SELECT carillon.pace_devices($1, $2, $3, $4, $5, $6, $7)")

    /// Moves due jobs from `scheduled` to the queue. The last row has no lane; it says where the next call may begin, and how
    /// many microseconds the server took.
    static let promote = Statement(
        "promote",
        """
        SELECT p.app_id, p.lane, p.lowest, p.jobs, p.next_at, p.next_id,
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS cost
        FROM carillon.promote($1, $2, $3) AS p
        """
    )
}
