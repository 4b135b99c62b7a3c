import CarillonPostgres
import CarillonSchema
import CarillonText

/// Finds workers that are silent or stuck.
struct WorkerCheck {
    let connection: PostgresConnection

    func run() async throws -> Finding {
        let workers = try await WorkerRecord.all(from: connection)
        let stuck = workers.filter { $0.state == .stuck }
        let silent = workers.filter { $0.state == .silent }
        if !stuck.isEmpty {
            return .warning(
                "\(Self.names(of: stuck)) \(stuck.count == 1 ? "holds" : "hold") claims and settled none for a while.",
                remedy: "The log may say why. If you end the worker, others take over its claims."
            )
        }
        if !silent.isEmpty {
            return .warning(
                "\(Self.names(of: silent)) missed two heartbeats or more.",
                remedy:
                    "If the worker was killed, others take over its claims once its lease has ended. Start another if none is running."
            )
        }
        return .ok(
            workers.isEmpty ? "No worker is running." : "\(Counted.text(Int64(workers.count), "worker")) alive."
        )
    }

    private static func names(of workers: [WorkerRecord]) -> String {
        let names = workers.prefix(3).map(\.name.visible)
        let more = workers.count - names.count
        return (workers.count == 1 ? "Worker " : "Workers ") + Counted.list(names + (more > 0 ? ["\(more) more"] : []))
    }
}
