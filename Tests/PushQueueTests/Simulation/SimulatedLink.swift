import CarillonPostgres

/// A connection to the model of the database. Statements run and return in the order in which they were sent, until the
/// connection breaks.
final class SimulatedLink {
    enum Loss: Error {
        /// The server refused the statement.
        case refused
        /// The connection broke before the statement returned.
        case unanswered

        /// The error that a worker gets.
        var error: PostgresError {
            switch self {
            case .refused: PostgresError(.server, "The server is short of something.", sqlState: "53000")
            case .unanswered: PostgresError(.closed, "The connection is gone.", effect: .unknown)
            }
        }
    }

    private(set) var isOpen = true
    /// Whether it gets notifications.
    var isListening = false
    /// What to do once it is lost.
    var whenLost: (() -> Void)?
    private var lastDone: Int64 = 0
    private var lastAnswered: Int64 = 0
    /// How many statements have returned.
    private var answered = 0
    /// What to do for each statement if it does not return.
    private var waiting: [() -> Void] = []

    /// Whether all statements have returned.
    var isIdle: Bool { !isOpen || answered == waiting.count }

    /// In microseconds.
    private func delay(_ simulation: Simulation) -> Int64 {
        let usual = simulation.random.number(in: 100...2000)
        // The network is sometimes slow.
        return Int64(simulation.random.number(in: 0...199) == 0 ? usual * 300 : usual)
    }

    /// Sends a statement; the process learns what it returned, or why it did not.
    func ask<R>(
        _ process: SimulatedWorker,
        _ statement: @escaping (inout ModelDatabase) -> R,
        then answer: @escaping (Result<R, Loss>) -> Void
    ) {
        let simulation = process.simulation
        guard isOpen else {
            process.after(.zero) { answer(.failure(.unanswered)) }
            return
        }
        waiting.append { process.after(.zero) { answer(.failure(.unanswered)) } }
        lastDone = max(lastDone, simulation.time + delay(simulation))
        // A statement that is on its way when the connection breaks may still arrive.
        let arrives = simulation.random.chance(1, outOf: 2)
        simulation.at(lastDone) {
            guard simulation.databaseIsUp else { return self.cut() }
            guard self.isOpen || arrives else { return }
            if simulation.random.chance(simulation.faults.refusedStatements, outOf: 1000) {
                self.reply(process) { answer(.failure(.refused)) }
                return
            }
            let before = simulation.database.arrivals
            let result = statement(&simulation.database)
            if simulation.database.isNotifying, simulation.database.hasGrown(since: before) { simulation.notify() }
            self.reply(process) { answer(.success(result)) }
        }
    }

    private func reply(_ process: SimulatedWorker, _ answer: @escaping () -> Void) {
        guard isOpen else { return }
        let simulation = process.simulation
        lastAnswered = max(lastAnswered, simulation.time + delay(simulation))
        simulation.at(lastAnswered) {
            guard self.isOpen else { return }
            self.answered += 1
            self.waiting[self.answered - 1] = {}
            process.perform(answer)
        }
    }

    /// A notification for the process, which does not overtake statements.
    func notify(_ process: SimulatedWorker, _ hear: @escaping () -> Void) {
        guard isOpen, isListening else { return }
        let simulation = process.simulation
        lastAnswered = max(lastAnswered, simulation.time + delay(simulation))
        simulation.at(lastAnswered) {
            if self.isOpen { process.perform(hear) }
        }
    }

    func cut() {
        guard isOpen else { return }
        isOpen = false
        let waiting = self.waiting[answered...]
        self.waiting = []
        for tell in waiting { tell() }
        whenLost?()
        whenLost = nil
    }
}

extension Result where Failure == SimulatedLink.Loss {
    var loss: SimulatedLink.Loss? {
        if case .failure(let loss) = self { loss } else { nil }
    }
}
