import CarillonPostgres

/// Does the maintenance tasks when they are due.
final class MaintenanceRunner {
    private let parts: MaintenanceParts

    init(_ parts: MaintenanceParts) { self.parts = parts }

    private var context: WorkerContext { parts.context }
    private var database: WorkerDatabase { parts.database }

    func keep(_ task: MaintenanceTask) async {
        while let wait = context.event({ task.wait(&$0) }), await context.sleep(for: wait) {
            if case .none(let work) = task.means {
                await work(parts)
                continue
            }
            guard let connection = await database.connection() else { return }
            do throws(PostgresError) {
                try await perform(task, on: connection)
            } catch {
                database.failed(error, on: connection)
            }
            context.event { $0.maintenance.tried(task.name) }
        }
    }

    /// - Parameter connection: The shared one.
    private func perform(_ task: MaintenanceTask, on connection: PostgresConnection) async throws(PostgresError) {
        switch task.means {
        case .none: break
        case .shared(let work): try await work(parts, connection)
        case .own(let isDue, let work):
            context.event { $0.maintenance.began(task.name) }
            guard try await isDue(parts, connection) else { return context.event { $0.maintenance.ended(task.name) } }
            await database.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                try await work(parts, own)
                context.event { $0.maintenance.ended(task.name) }
            }
        case .fleet(let shared, let interval, let work):
            var run = FleetRun(task.name, in: context.state)
            guard case .ask = run.step else { return }
            let due = shared.parameters(every: interval(context.options), worker: context.state.lease.id)
            let dueNow = try await database.ask(connection, FleetTask.isDue, due) { try $0.bool(0, 0) }
            context.event { run.succeeded(dueNow, in: &$0) }
            guard case .connect = run.step else { return }
            await database.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                let worker = context.state.lease.id
                while true {
                    switch run.step {
                    case .ask, .over: return
                    case .connect: context.event { run.succeeded(in: &$0) }
                    case .take:
                        let parameters = shared.parameters(every: interval(context.options), worker: worker)
                        let isTaken = try await own.execute(FleetTask.take, parameters) == 1
                        context.event { run.succeeded(isTaken, in: &$0) }
                    case .work:
                        try await work(parts, own)
                        context.event { run.succeeded(in: &$0) }
                    case .end:
                        try await own.execute(FleetTask.end, shared.parameters(of: worker))
                        context.event { run.succeeded(in: &$0) }
                    }
                }
            }
        }
    }
}
