import CarillonPostgres

/// Does the maintenance tasks when they are due.
final class MaintenanceRunner {
    private let tools: MaintenanceTools

    init(_ tools: MaintenanceTools) { self.tools = tools }

    private var context: WorkerContext { tools.context }
    private var database: WorkerDatabase { tools.database }

    func keep(_ task: MaintenanceTask) async {
        while let wait = context.event({ task.wait(&$0) }), await context.sleep(for: wait) {
            if case .none(let work) = task.means {
                await work(tools)
                continue
            }
            if !context.state.sleep.isAwake, task.name != .counts {
                // A sleeper learns from its slow looks what is due. What has failed, only this worker knows.
                guard context.state.maintenance.unfinished.contains(task.name) else { continue }
                context.wake()
            }
            guard let connection = await database.connection() else { return }
            context.event { $0.maintenance.began(task.name) }
            do throws(PostgresError) {
                try await perform(task, on: connection)
            } catch {
                database.failed(error, on: connection)
            }
            context.event { $0.maintenance.ended(task.name) }
        }
    }

    private func perform(_ task: MaintenanceTask, on shared: PostgresConnection) async throws(PostgresError) {
        switch task.means {
        case .none: break
        case .shared(let work):
            try await work(tools, shared)
            finished(task)
        case .own(let isDue, let work):
            guard try await isDue(tools, shared) else { return finished(task) }
            await database.withOwnConnection(for: task.name.purpose) { own throws(PostgresError) in
                try await work(tools, own)
                finished(task)
            }
        case .fleet(let every, let work):
            guard FleetRun.mayBegin(in: context.state) else { return finished(task) }
            let fleetTask = FleetTask(name: task.name)
            let interval = every(context.options)
            let due = fleetTask.parameters(every: interval, worker: context.state.lease.id)
            let isDue = try await database.ask(shared, FleetTask.isDue, due) { try $0.bool(0, 0) }
            guard isDue else { return finished(task) }
            await database.withOwnConnection(for: task.name.purpose) { own throws(PostgresError) in
                let worker = context.state.lease.id
                var run = FleetRun(task.name)
                while true {
                    var isTaken = true
                    switch run.step {
                    case .take:
                        let parameters = fleetTask.parameters(every: interval, worker: worker)
                        isTaken = try await own.execute(FleetTask.take, parameters) == 1
                    case .work: try await work(tools, own)
                    case .end: try await own.execute(FleetTask.end, fleetTask.parameters(of: worker))
                    case .over: return
                    }
                    context.event { run.succeeded(isTaken, in: &$0) }
                }
            }
        }
    }

    private func finished(_ task: MaintenanceTask) { context.event { $0.maintenance.finished(task.name) } }
}
