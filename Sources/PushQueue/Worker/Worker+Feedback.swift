import ApplePush
import IO
import Postgres

/// The fleet's feedback passes: exactly one worker runs one that is due.
extension Worker {
    /// A worker that works off what is due and ends runs none.
    func keepFeedback() async {
        let interval = self.options.feedbackInterval
        guard interval > .zero, !self.options.once else { return }
        while !Task.isCancelled, self.state.phase != .over {
            await self.sleep(for: self.state.feedbackWait())
            // What was read is written whatever happens; the rest is for workers that go on.
            if self.feedbackLists != nil { await self.run(.feedback, self.readLists) }
            if self.state.isReadingFeedback { continue }
            guard !Task.isCancelled, self.state.phase == .working, let connection = await self.database() else {
                return
            }
            let parameters = FeedbackChore.parameters(every: interval, worker: self.state.id)
            do throws(PostgresError) {
                if try await self.ask(connection, FeedbackChore.isDue, parameters, { try $0.bool(0, 0) }) {
                    await self.runFeedback()
                }
            } catch {
                self.failed(error, on: connection)
            }
        }
    }

    /// Takes its time, and holds nobody up: on a connection of its own, which splitting and sweeping do without.
    private func runFeedback() async {
        let worker = self.state.id
        let parameters = FeedbackChore.parameters(every: self.options.feedbackInterval, worker: worker)
        self.state.feedbackBegan()
        await self.run(.feedback) { connection throws(PostgresError) in
            guard try await connection.execute(FeedbackChore.take, parameters) == 1 else {
                return self.state.feedbackEnded()
            }
            try await self.readLists(on: connection)
            let began = MonotonicInstant.now
            var pass = FeedbackPass()
            defer { self.tell(.reaped(pass.tally, in: .now - began)) }
            try await pass.run(on: connection, self.loop, whileTrue: { self.goesOnWithFeedback })
            // One that was broken off is another's as soon as this worker has left.
            guard self.goesOnWithFeedback else { return }
            var parameters = Parameters()
            parameters.append(worker)
            try await connection.execute(FeedbackChore.end, parameters)
            self.state.feedbackEnded()
        }
    }

    /// What the legacy feedback service has to tell, before anything is reaped.
    private func readLists(on connection: PostgresConnection) async throws(PostgresError) {
        var lists: FeedbackLists
        if let begun = self.feedbackLists.take() {
            lists = begun
        } else {
            lists = try await FeedbackLists(of: nil, on: connection)
        }
        defer {
            for report in lists.takeReports() { self.tell(.feedbackRead(report)) }
            if lists.isUnderWay { self.feedbackLists = lists }
            self.state.isReadingFeedback = lists.isUnderWay
            self.dispatchBell.ring()
        }
        self.state.isReadingFeedback = true
        try await lists.goOn(by: self.backend, on: connection, whileTrue: { self.goesOnWithFeedback })
    }

    private var goesOnWithFeedback: Bool { self.state.phase == .working && !Task.isCancelled }
}
