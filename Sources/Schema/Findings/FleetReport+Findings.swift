import CarillonText

/// Finds that jobs wait without a worker, and workers that are silent or stuck.
extension FleetReport {
    package var findings: [Finding] { [missing, stuck, silent].compactMap(\.self) }

    /// If no job waits, it is not known whether a worker is meant to run: there is none before the first start, nor between two
    /// runs with `--once`.
    private var missing: Finding? {
        guard lacksWorker else { return nil }
        return Finding(
            .workers,
            .critical,
            workers.isEmpty ? "No worker is running, and jobs wait." : "Jobs wait, and no worker is known to be alive.",
            remedy:
                "Start 'carillon worker', on as many machines as you like. If one is running, it uses another database or cannot "
                + "reach this one: its log says which."
        )
    }

    private var stuck: Finding? {
        let stuck = workers.filter { $0.state == .stuck }
        guard !stuck.isEmpty else { return nil }
        return Finding(
            .workers,
            .critical,
            "\(Self.names(of: stuck)) \(stuck.count == 1 ? "has" : "have") claims and settled none for a while.",
            remedy: "The log may say why. If you end the worker, others take over its claims."
        )
    }

    private var silent: Finding? {
        let silent = workers.filter { $0.state == .silent }
        guard !silent.isEmpty else { return nil }
        return Finding(
            .workers,
            .warning,
            "\(Self.names(of: silent)) missed two heartbeats or more.",
            remedy:
                "If the worker was killed, others take over its claims once its lease has ended. "
                + "Start another if none is running."
        )
    }

    private static func names(of workers: [WorkerRecord]) -> String {
        let names = workers.prefix(3).map(\.name.visible)
        let more = workers.count - names.count
        return (workers.count == 1 ? "Worker " : "Workers ") + Counted.list(names + (more > 0 ? ["\(more) more"] : []))
    }
}
