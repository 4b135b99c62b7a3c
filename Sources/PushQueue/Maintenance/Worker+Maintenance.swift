import Postgres

/// Doing the tasks of maintenance, side by side: none waits for another.
extension Worker {
    func keep(_ task: MaintenanceTask) async {
        while let wait = task.wait(&self.state), await self.sleep(for: wait) {
            if case .none(let work) = task.means {
                await work(self)
                continue
            }
            guard let connection = await self.database() else { return }
            do throws(PostgresError) {
                try await self.perform(task, on: connection)
            } catch {
                self.failed(error, on: connection)
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
            await self.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                try await work(self, own)
            }
        case .held(let hold, let interval, let work):
            // What is begun now could not be brought to its end.
            guard self.goesOn else { return }
            let parameters = hold.parameters(every: interval(self.options), worker: self.state.id)
            guard try await self.ask(connection, FleetHold.isDue, parameters, { try $0.bool(0, 0) }) else { return }
            await self.withOwnConnection(for: .maintenance(task.name)) { own throws(PostgresError) in
                let worker = self.state.id
                let parameters = hold.parameters(every: interval(self.options), worker: worker)
                self.state.began(task.name)
                if try await own.execute(FleetHold.take, parameters) == 1 {
                    try await work(self, own)
                    // What was broken off is another's as soon as this worker has left.
                    guard self.goesOn else { return }
                    try await own.execute(FleetHold.end, hold.parameters(of: worker))
                }
                self.state.ended(task.name)
            }
        }
    }

    /// Whether to go on with what takes long.
    var goesOn: Bool { self.state.phase == .working && !Task.isCancelled }
}
