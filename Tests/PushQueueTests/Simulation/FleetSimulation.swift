import CarillonIO
import TestSupport

@testable import CarillonPushQueue

/// Many databases, and processes that serve some of them each. A database is a `Simulation` with faults of its own. What databases
/// share are processes: one dies with all its workers, whose pushes in flight have one limit.
final class FleetSimulation {
    /// A process with a worker for each of its databases. When it has died, it is replaced.
    final class Process {
        fileprivate let databases: [Simulation]
        private var workers: [Int: SimulatedWorker] = [:]
        private(set) var deaths = 0

        fileprivate init(serving databases: [Simulation]) { self.databases = databases }

        fileprivate func start(maxInFlight: Int, _ ceiling: FlightCeiling, in place: Int) {
            workers[place] = databases[place].start(maxInFlight: maxInFlight, ceiling.member(place))
        }

        fileprivate func die(in place: Int) {
            workers[place]?.die()
            if place == 0 { deaths += 1 }
        }
    }

    /// For how long processes die, one in each second.
    static let seconds = 30

    let databases: [Simulation]
    let processes: [Process]
    /// When each database has its next event.
    private var queue = SimulationQueue()

    init(seed: UInt64, apps: AppDirectory) {
        var random = SeededGenerator(seed: seed)
        let databases = (0..<64).map { _ in
            Simulation(seed: random.next(), apps: apps, lease: .seconds(5), horizon: Int64(Self.seconds) * 1_000_000) {
                var faults = SimulationFaults(using: &$0)
                // Workers die with their processes.
                faults.crashes = 0
                return faults
            }
        }
        self.databases = databases
        processes = (0..<500).map { number in
            // Two each, so that each database has workers.
            let other = number + random.number(in: 1...databases.count - 1)
            return Process(serving: [number, other].map { databases[$0 % databases.count] })
        }
        for database in databases { database.begin() }
        for process in processes { plan(process, dyingAt: nil, &random) }
        for (second, process) in processes.shuffled(using: &random).prefix(Self.seconds).enumerated() {
            plan(process, dyingAt: Int64(second * 1_000_000 + random.number(in: 0...999_999)), &random)
        }
    }

    /// Plans the start of a process, and its death before that if it has begun already.
    private func plan(_ process: Process, dyingAt death: Int64?, _ random: inout SeededGenerator) {
        let maxInFlight = random.number(in: 6...60)
        let ceiling = FlightCeiling(limit: maxInFlight, workers: process.databases.count)
        let start = death.map { $0 + Int64(random.number(in: 0...2_500_000)) } ?? 0
        for (place, database) in process.databases.enumerated() {
            if let death { database.at(database.time + death) { process.die(in: place) } }
            database.at(database.time + start) { process.start(maxInFlight: maxInFlight, ceiling, in: place) }
        }
    }

    /// Runs until nothing is left to do. Events of all databases happen in the order of time.
    func run() {
        for database in databases { schedule(database) }
        while queue.earliest != nil { queue.removeFirst()?() }
        for database in databases { database.end() }
    }

    private func schedule(_ database: Simulation) {
        guard let next = database.nextEvent else { return }
        queue.insert(at: next) {
            database.step()
            self.schedule(database)
        }
    }
}
