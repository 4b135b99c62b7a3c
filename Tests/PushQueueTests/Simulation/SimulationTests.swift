import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Thousands of random combinations of faults; `SIMULATION_RUNS` sets how many. A seed that fails is printed; `SIMULATION_SEED`
/// runs it alone.
@Suite struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let runs = Self.environment["SIMULATION_RUNS"].flatMap { Int($0) } ?? 2000
    private static let seed = Self.environment["SIMULATION_SEED"].flatMap { UInt64($0) }

    /// - Parameter lease: If not nil, the tasks of the fleet are delayed by this time.
    private func run(
        _ seed: UInt64,
        _ faults: SimulationFaults? = nil,
        lease: Duration? = nil
    ) async throws -> Simulation {
        try await Computing.run {
            let apps = try SimulatedApp.unread.get()
            let simulation = Simulation(
                seed: seed,
                apps: apps,
                lease: lease ?? .seconds(1),
                faults: faults.map { faults in { _ in faults } }
            )
            if lease != nil { simulation.putOffTasks() }
            simulation.run()
            let wrongs = simulation.audit()
            let findings = "\(wrongs.prefix(5).joined(separator: "\n")) \(simulation.faults)"
            #expect(wrongs.isEmpty, "seed \(seed), repeated by make simulation SEED=\(seed): \(findings)")
            return simulation
        }
    }

    @Test(arguments: 0..<4) func `under all faults no push is lost, and none is sent twice without need`(
        part: Int
    ) async throws {
        if let seed = Self.seed {
            if part == 0 { _ = try await run(seed) }
            return
        }
        for number in stride(from: part, to: Self.runs, by: 4) { _ = try await run(UInt64(number) + 1) }
    }

    /// One run for 2,000 of the others.
    @Test func `64 databases with 500 workers lose no push while a worker dies every second`() async throws {
        let seeds = Self.seed.map { [$0] } ?? (0..<UInt64(max(1, Self.runs / 2000))).map { $0 + 1 }
        for seed in seeds {
            try await Computing.run {
                let fleet = FleetSimulation(seed: seed, apps: try SimulatedApp.unread.get())
                fleet.run()
                for (number, simulation) in fleet.databases.enumerated() {
                    let wrongs = simulation.audit().prefix(5).joined(separator: "\n")
                    let place = "database \(number) of seed \(seed), repeated by make simulation SEED=\(seed)"
                    #expect(wrongs.isEmpty, "\(place): \(wrongs) \(simulation.faults)")
                }
                let dead = fleet.processes.count { $0.deaths > 0 }
                #expect(dead == FleetSimulation.seconds, "seed \(seed)")
            }
        }
    }

    @Test func `without faults every push is sent exactly once`() async throws {
        var superseded = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            let simulation = try await run(seed, SimulationFaults.none)
            #expect(simulation.gateway.records.values.allSatisfy { $0.sends == 1 })
            superseded += simulation.database.tables.results.reduce(0) { $0 + $1.cancelled }
        }
        #expect(superseded > 0)
    }

    /// With such a long lease, the next slow look may be half a minute away. A look that takes 0.3 s delays the next one by 6 s.
    @Test func `sleeping workers miss no commit, whoever falls asleep or wakes at that moment`() async throws {
        var sleeps = 0
        for seed in 1...200 as ClosedRange<UInt64> {
            let simulation = try await run(seed, SimulationFaults.none, lease: .seconds(15))
            sleeps += simulation.sleeps
            #expect(simulation.longestWait < 10_000_000, "seed \(seed)")
        }
        #expect(sleeps > 200)
    }

    @Test func `feedback passes delete dead tokens, and tasks of the fleet run`() async throws {
        var reaped = 0
        for seed in 1...40 as ClosedRange<UInt64> {
            let simulation = try await run(seed)
            reaped += simulation.reaped
            #expect(simulation.database.tables.fleetTasks.count == 2, "seed \(seed)")
        }
        #expect(reaped > 0)
    }

    @Test func `a seed reproduces its run`() async throws {
        for seed in 1...10 as ClosedRange<UInt64> {
            let first = try await run(seed)
            let second = try await run(seed)
            #expect(first.time == second.time, "seed \(seed)")
            #expect(first.database.tables == second.database.tables, "seed \(seed)")
        }
    }
}
