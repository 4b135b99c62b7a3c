import CarillonPostgres

/// The answer to one batch of a feedback pass.
struct ReapBatch: Sendable {
    enum State: String, Sendable {
        case more
        case over
        /// Another pass is running.
        case busy
    }

    let state: State
    /// Where the next one begins.
    let next: String?
    let app: String?
    /// Rows of `feedback`.
    let handled: Int
    /// Tokens in all tables.
    let deleted: Int
    /// Why watched tables could not be reaped, each with its table.
    let faults: [String]

    static let statement = Statement(
        "reap_batch",
        """
        SELECT b.state, b.next::text, b.of_app, b.handled, b.deleted, b.faults
        FROM carillon.reap_batch($1, $2::text::carillon.reap_position) AS b
        """
    )

    init(_ state: State, next: String?, app: String?, handled: Int, deleted: Int, faults: [String] = []) {
        self.state = state
        self.next = next
        self.app = app
        self.handled = handled
        self.deleted = deleted
        self.faults = faults
    }

    init(_ rows: borrowing Rows) throws(PostgresError) {
        self.init(
            try rows.choice(0, "state"),
            next: try rows.stringIfPresent(0, "next"),
            app: try rows.stringIfPresent(0, "of_app"),
            handled: Int(try rows.int64(0, "handled")),
            deleted: Int(try rows.int64(0, "deleted")),
            faults: try rows.strings(0, "faults").compactMap(\.self)
        )
    }
}
