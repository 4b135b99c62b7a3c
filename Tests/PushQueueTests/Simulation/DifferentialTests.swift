import ApplePush
import CarillonIO
import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Does the same random operations on PostgreSQL and on its model, and compares all tables after each.
///
/// `DIFFERENTIAL_RUNS` sets how many runs there are.
@Suite struct DifferentialTests {
    private static let runs =
        ProcessInfo.processInfo.environment["DIFFERENTIAL_RUNS"].flatMap { UInt64($0) } ?? 12

    @Test(arguments: 1...Self.runs) func `the model agrees with PostgreSQL`(seed: UInt64) async throws {
        try await Self.compare(seed: seed)
    }

    @Test(arguments: 1...Self.runs)
    func `the model and PostgreSQL agree about background pushes that wait for the next hour`(seed: UInt64) async throws
    {
        try await Self.compare(seed: seed, isPacing: true)
    }

    @Test func `each field of a job is compared, or known to be left out`() async throws {
        try await TestDatabase.with(.schema) { database in
            let fields = try await database.rows(
                "SELECT a.attname FROM pg_attribute a WHERE a.attrelid = 'carillon.job'::regclass AND NOT a.attisdropped"
            )
            let known = ModelJob.others.union(ModelJob.fields.map(\.name))
            #expect(Set(fields).symmetricDifference(known.map { "(\($0))" }) == [])
        }
    }

    private static func compare(seed: UInt64, isPacing: Bool = false) async throws {
        try await TestDatabase.withDemo { database async throws in
            try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
            try await database.session(as: TestLogin.worker.rawValue) { session in
                var difference = try await Difference(
                    database,
                    workerSession: session.connection,
                    seed: seed,
                    isPacing: isPacing
                )
                try await Self.compare(&difference, seed: seed)
            }
        }
    }

    private static func compare(_ difference: inout Difference, seed: UInt64) async throws {
        for number in 0..<250 {
            let step = try await difference.step()
            let real = try await difference.realTables()
            let model = difference.modelTables()
            let misplaced = try await difference.misplacedPayloads()
            #expect(misplaced == 0, "seed \(seed), operation \(number): \(step)")
            guard real == model, difference.differences.isEmpty else {
                Issue.record(
                    """
                    seed \(seed), operation \(number): \(step)
                    \(difference.differences)
                    only real: \(Set(real).subtracting(model).sorted())
                    only model: \(Set(model).subtracting(real).sorted())
                    """
                )
                return
            }
        }
    }
}
