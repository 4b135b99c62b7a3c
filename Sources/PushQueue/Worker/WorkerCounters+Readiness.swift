package import IO

extension WorkerCounters {
    /// Whether a worker can do its work, and if not, why.
    package enum Readiness: Sendable {
        case ready
        case disconnected
        /// It is connected, and the database has not said anything for a while.
        case silent
        /// Others may take it for dead, so it sends nothing.
        case leaseUnproven
    }

    /// A database that is well answers more often than once a second, since it is asked so often.
    static let longestSilence = Duration.seconds(4)

    package func readiness(at now: MonotonicInstant) -> Readiness {
        guard isConnected, let heardAt, let leaseEnd else { return .disconnected }
        guard now - heardAt < Self.longestSilence else { return .silent }
        return now < leaseEnd ? .ready : .leaseUnproven
    }
}
