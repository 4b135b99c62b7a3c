import CarillonPostgres

extension SilenceState {
    /// After how long a server is left while the worker works: about one lease.
    static func limit(lease: Duration) -> Duration { min(max(lease, .seconds(5)), .seconds(15)) }
    /// The same for a worker that has not begun, if it can try another host.
    static let limitAtStart = Duration.seconds(3)
}

extension WorkerDatabase {
    static let probe = Statement("probe", "SELECT 1")

    /// The connections that a server is judged by.
    var inUse: [PostgresConnection] { [lifeline, shared, coming].compactMap { $0 } }

    /// How long a server may leave statements without an answer.
    var silenceLimit: Duration {
        !hasBegun && context.options.database.hostCount > 1
            ? SilenceState.limitAtStart : SilenceState.limit(lease: context.options.lease)
    }

    /// Leaves a server that has stopped answering. Each is judged by the connections to it.
    /// - Returns: Connections that wait for nothing, to be probed: an answer shows that their server is alive.
    func lookForSilence(_ states: inout [ServerAddress: SilenceState]) async -> [PostgresConnection] {
        let servers = Dictionary(grouping: inUse, by: \.server)
        states = states.filter { servers[$0.key] != nil }
        var probes: [PostgresConnection] = []
        for (server, connections) in servers {
            var idle: [PostgresConnection] = []
            var arrivals = 0
            for connection in connections {
                arrivals += await connection.arrivals
                if await !connection.isWaiting { idle.append(connection) }
            }
            let isWaiting = idle.count < connections.count
            switch states[server, default: SilenceState()].observed(arrivals: arrivals, isWaiting: isWaiting) {
            case .wait: break
            case .probe: probes += idle
            case .leave: await leave(server, silentFor: silenceLimit)
            }
        }
        return probes
    }
}
