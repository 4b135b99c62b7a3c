import IO

/// A connection to the model's database: statements are carried out in the order in which they were sent, and answered in
/// that order, until the link breaks.
final class SimulatedLink {
    enum Loss: Error {
        /// The server refused the statement.
        case refused
        /// No answer came, and none will.
        case unanswered
    }

    private(set) var isOpen = true
    private var lastDone = MonotonicInstant(nanoseconds: 0)
    private var lastAnswered = MonotonicInstant(nanoseconds: 0)
    private var number = 0
    /// What waits for an answer.
    private var waiting: [Int: () -> Void] = [:]

    private func delay(_ simulation: Simulation) -> Duration {
        let usual = Int64.random(in: 100...2000, using: &simulation.random)
        // Now and then the network takes its time.
        return .microseconds(Int.random(in: 0..<200, using: &simulation.random) == 0 ? usual * 300 : usual)
    }

    /// Sends a statement; the answer or its absence is told to the process.
    func ask<R>(
        _ process: SimulatedWorker,
        _ statement: @escaping (inout ModelDatabase) -> R,
        then answer: @escaping (Result<R, Loss>) -> Void
    ) {
        let simulation = process.simulation
        guard self.isOpen else {
            process.after(.zero) { answer(.failure(.unanswered)) }
            return
        }
        let number = self.number
        self.number += 1
        self.waiting[number] = { process.after(.zero) { answer(.failure(.unanswered)) } }
        self.lastDone = max(self.lastDone, simulation.now + self.delay(simulation))
        // What is on its way when the link breaks may arrive all the same.
        let arrives = Bool.random(using: &simulation.random)
        simulation.at(self.lastDone) {
            guard simulation.databaseIsUp, self.isOpen || arrives else { return }
            if simulation.chance(simulation.faults.refusedStatements, outOf: 1000) {
                self.reply(number, process) { answer(.failure(.refused)) }
                return
            }
            let result = statement(&simulation.database)
            self.reply(number, process) { answer(.success(result)) }
        }
    }

    private func reply(_ number: Int, _ process: SimulatedWorker, _ answer: @escaping () -> Void) {
        let simulation = process.simulation
        self.lastAnswered = max(self.lastAnswered, simulation.now + self.delay(simulation))
        simulation.at(self.lastAnswered) {
            guard self.isOpen, self.waiting.removeValue(forKey: number) != nil else { return }
            process.perform(answer)
        }
    }

    func cut() {
        self.isOpen = false
        let waiting = self.waiting.sorted { $0.key < $1.key }
        self.waiting = [:]
        for (_, tell) in waiting { tell() }
    }
}
