import Postgres

/// Doing the tasks of maintenance, side by side: none waits for another.
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
        }
    }

    /// - Parameter connection: That of all work.
    private func perform(_ task: MaintenanceTask, on connection: PostgresConnection) async throws(PostgresError) {
        switch task.means {
        case .none: break
        case .shared(let work): try await work(self, connection)
        case .own(let isDue, let work):
            guard try await isDue(self, connection) else { return }
            await withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                try await work(self, own)
            }
        case .held(let hold, let interval, let work):
            // What is begun now could not be brought to its end.
            guard goesOn else { return }
            let parameters = hold.parameters(every: interval(options), worker: state.id)
            guard try await ask(connection, FleetHold.isDue, parameters, { try $0.bool(0, 0) }) else { return }
            await withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                let worker = state.id
                let parameters = hold.parameters(every: interval(options), worker: worker)
                state.began(task.name)
                if try await own.execute(FleetHold.take, parameters) == 1 {
                    try await work(self, own)
                    // What was broken off is another's as soon as this worker has left.
                    guard goesOn else { return }
                    try await own.execute(FleetHold.end, hold.parameters(of: worker))
                }
                state.ended(task.name)
            }
        }
    }

    /// Whether to go on with what takes long.
    var goesOn: Bool { state.phase == .working && !Task.isCancelled }
}
