import CarillonText

/// Finds workers that are silent or stuck.
extension WorkerRecord {
    package static func findings(of workers: [WorkerRecord]) -> [Finding] {
        let stuck = workers.filter { $0.state == .stuck }
        let silent = workers.filter { $0.state == .silent }
        var findings: [Finding] = []
        if !stuck.isEmpty {
            findings.append(
                Finding(
                    .workers,
                    .critical,
                    "\(names(of: stuck)) \(stuck.count == 1 ? "has" : "have") claims and settled none for a while.",
                    remedy: "The log may say why. If you end the worker, others take over its claims."
                )
            )
        }
        if !silent.isEmpty {
            findings.append(
                Finding(
                    .workers,
                    .warning,
                    "\(names(of: silent)) missed two heartbeats or more.",
                    remedy:
                        "If the worker was killed, others take over its claims once its lease has ended. "
                        + "Start another if none is running."
                )
            )
        }
        return findings
    }

    private static func names(of workers: [WorkerRecord]) -> String {
        let names = workers.prefix(3).map(\.name.visible)
        let more = workers.count - names.count
        return (workers.count == 1 ? "Worker " : "Workers ") + Counted.list(names + (more > 0 ? ["\(more) more"] : []))
    }
}
