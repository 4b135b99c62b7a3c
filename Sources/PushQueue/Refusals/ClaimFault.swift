import CarillonPostgres

/// Why a claim was not made, and so which claims wait.
enum ClaimFault: Sendable {
    /// The connection was lost: nothing is claimed until there is another.
    case connection
    /// PostgreSQL has no memory for so many rows of the lane.
    case size
    /// PostgreSQL refuses to claim from the lane.
    case lane
    /// The schema, rights, the disk or the server: the error says nothing of the lane.
    case everything

    init(_ error: PostgresError) {
        self =
            switch error.code {
            case .server where error.isAboutSize: .size
            case .server where error.isRefusal || error.isTimeout || error.isConflict: .lane
            case .server: .everything
            case .unexpectedValue: .lane
            default: .connection
            }
    }
}
