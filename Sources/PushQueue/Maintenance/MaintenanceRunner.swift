import CarillonPostgres

/// Does the maintenance tasks when they are due.
final class MaintenanceRunner {
    private let context: MaintenanceContext
    private let core: Core
    private let database: WorkerDatabase

    init(_ context: MaintenanceContext) {
        self.context = context
        core = context.core
        database = context.database
    }

    func keep(_ task: MaintenanceTask) async {
        while let wait = core.event({ task.wait(&$0) }), await core.sleep(for: wait) {
            if case .none(let work) = task.means {
                await work(context)
                continue
            }
            guard let connection = await database.connection() else { return }
            do throws(PostgresError) {
                try await perform(task, on: connection)
            } catch {
                database.failed(error, on: connection)
            }
            core.event { $0.maintenance.tried(task.name) }
        }
    }

    /// - Parameter connection: The shared one.
    private func perform(_ task: MaintenanceTask, on connection: PostgresConnection) async throws(PostgresError) {
        switch task.means {
        case .none: break
        case .shared(let work): try await work(context, connection)
        case .own(let isDue, let work):
            core.event { $0.maintenance.began(task.name) }
            guard try await isDue(context, connection) else { return core.event { $0.maintenance.ended(task.name) } }
            await database.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                try await work(context, own)
                core.event { $0.maintenance.ended(task.name) }
            }
        case .fleet(let shared, let interval, let work):
            var run = FleetRun(task.name, in: core.state)
            guard case .ask = run.step else { return }
            let due = shared.parameters(every: interval(core.options), worker: core.state.lease.id)
            let dueNow = try await database.ask(connection, FleetTask.isDue, due) { try $0.bool(0, 0) }
            core.event { run.succeeded(dueNow, in: &$0) }
            guard case .connect = run.step else { return }
            await database.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                let worker = core.state.lease.id
                while true {
                    switch run.step {
                    case .ask, .over: return
                    case .connect: core.event { run.succeeded(in: &$0) }
                    case .take:
                        let parameters = shared.parameters(every: interval(core.options), worker: worker)
                        let isTaken = try await own.execute(FleetTask.take, parameters) == 1
                        core.event { run.succeeded(isTaken, in: &$0) }
                    case .work:
                        try await work(context, own)
                        core.event { run.succeeded(in: &$0) }
                    case .end:
                        try await own.execute(FleetTask.end, shared.parameters(of: worker))
                        core.event { run.succeeded(in: &$0) }
                    }
                }
            }
        }
    }
}
