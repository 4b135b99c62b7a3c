import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonSchema

/// Functions and views change while they are called.
@Suite(.demo) struct UpgradeLoadTests {
    /// How many upgrades: `UPGRADES=1000` for a long run.
    private static let upgrades = ProcessInfo.processInfo.environment["UPGRADES"].flatMap { Int($0) } ?? 6

    private static func release(_ number: Int) -> Routines { .rewritten("1.0.\(number)") }

    private static let enqueue = Statement("load_enqueue", "SELECT carillon.enqueue('demo', ARRAY['aa'], 'hi')")

    private static let reads = [
        "carillon.pending", "carillon.app_status", "carillon.held_apps", "carillon.message_status(1)",
    ].map { Statement("load_\($0)", "SELECT count(*) FROM \($0)") }

    /// Enqueues and reads until the task is cancelled, and returns how many messages were enqueued.
    private static func call(_ database: TestDatabase) async throws -> Int {
        var count = 0
        while !Task.isCancelled {
            _ = try await database.connection.query(enqueue) { try $0.int64(0, 0) }
            count += 1
            for read in reads { _ = try await database.connection.query(read) { try $0.int64(0, 0) } }
        }
        return count
    }

    @Test func `of calls while functions, views and rights change, none fails and none is done twice`() async throws {
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...6 {
                group.addTask { try await database.session { try await Self.call($0) } }
            }
            for number in 1...Self.upgrades {
                _ = try await Migrator(database.connection, Self.release(number)).up()
            }
            group.cancelAll()
            return try await group.reduce(0, +)
        }
        #expect(total > Self.upgrades)
        #expect(try await database.number("SELECT count(*) FROM carillon.messages") == total)
        #expect(
            try await Migrator(database.connection, Self.release(Self.upgrades)).routineStatus().condition
                == .applied
        )
    }
}
