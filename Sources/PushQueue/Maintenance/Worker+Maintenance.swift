import CarillonPostgres

extension Worker {
    func keep(_ task: MaintenanceTask) async {
        while let wait = task.wait(&state), await sleep(for: wait) {
            if case .none(let work) = task.means {
                await work(self)
                continue
            }
            guard let connection = await database() else { return }
            do throws(PostgresError) {
                try await perform(task, on: connection)
            } catch {
                failed(error, on: connection)
            }
            state.triedTasks.insert(task.name)
        }
    }

    /// - Parameter connection: The shared one.
    private func perform(_ task: MaintenanceTask, on connection: PostgresConnection) async throws(PostgresError) {
        switch task.means {
        case .none: break
        case .shared(let work): try await work(self, connection)
        case .own(let isDue, let work):
            state.began(task.name)
            guard try await isDue(self, connection) else { return state.ended(task.name) }
            await withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                try await work(self, own)
                state.ended(task.name)
            }
        case .fleet(let shared, let interval, let work):
            var run = FleetRun(task.name, in: state)
            guard case .ask = run.step else { return }
            let due = shared.parameters(every: interval(options), worker: state.id)
            run.succeeded(try await ask(connection, FleetTask.isDue, due) { try $0.bool(0, 0) }, in: &state)
            guard case .connect = run.step else { return }
            await withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                let worker = state.id
                while true {
                    switch run.step {
                    case .ask, .over: return
                    case .connect: run.succeeded(in: &state)
                    case .take:
                        let parameters = shared.parameters(every: interval(options), worker: worker)
                        let isTaken = try await own.execute(FleetTask.take, parameters) == 1
                        run.succeeded(isTaken, in: &state)
                    case .work:
                        try await work(self, own)
                        run.succeeded(in: &state)
                    case .end:
                        try await own.execute(FleetTask.end, shared.parameters(of: worker))
                        run.succeeded(in: &state)
                    }
                }
            }
        }
    }

    /// Whether a long task may go on.
    var goesOn: Bool { state.phase == .working && !Task.isCancelled }
}
