import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// When PostgreSQL says that a task of the fleet is due.
@Suite(.demo) struct FleetTaskTests {
    private struct Row: Sendable {
        /// Of `fleet_tasks`, whose task was begun an hour before `next_run`.
        let nextRun: String
        var holder = "NULL"
        /// Nil: that of the row.
        var seconds: Int?
        /// Whether worker 1 may do it now.
        let isDue: Bool
        /// Whether worker 1 must not sleep because of it. If it has begun the task, it repeats it by itself.
        let wakes: Bool
    }

    private static let rows = [
        Row(nextRun: "now()", isDue: true, wakes: true),
        Row(nextRun: "now() + '20 minutes'", isDue: false, wakes: false),
        Row(nextRun: "now() + '20 minutes'", seconds: 3_000, isDue: false, wakes: false),
        Row(nextRun: "now() + '20 minutes'", seconds: 60, isDue: true, wakes: true),
        // The clock was set back.
        Row(nextRun: "now() + '2 hours'", isDue: true, wakes: true),
        Row(nextRun: "'infinity'", isDue: true, wakes: true), Row(nextRun: "'-infinity'", isDue: true, wakes: true),
        Row(nextRun: "now()", holder: "1", isDue: true, wakes: false),
        Row(nextRun: "now()", holder: "2", isDue: false, wakes: false),
        // That worker was declared dead.
        Row(nextRun: "now() + '20 minutes'", holder: "3", isDue: true, wakes: true),
    ]

    @Test func `a task keeps from sleeping whoever would do it, and is done once`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.workers (id, name, lease_until)
            SELECT n, 'w', now() + interval '1 hour' FROM generate_series(1, 2) n
            """
        )
        for row in Self.rows {
            try await database.run(
                """
                UPDATE carillon.fleet_tasks SET next_run = \(row.nextRun), every = '1 hour', worker_id = \(row.holder)
                WHERE name = 'feedback'
                """
            )
            let seconds = row.seconds.map { "\($0)" } ?? "NULL"
            let work = "SELECT w.work FROM carillon.waiting_work(1, '{}', '{}', '{feedback}', '{\(seconds)}') AS w"
            let reason = try await database.value(work)
            #expect((reason == "due") == row.wakes, "\(row)")
            let parameters = FleetTask.feedback.parameters(every: row.seconds.map { .seconds($0) }, worker: 1)
            let isDue = try await database.connection.query(FleetTask.isDue, parameters) { try $0.bool(0, 0) }
            #expect(isDue == row.isDue, "\(row)")
            let taken = try await database.connection.execute(FleetTask.take, parameters)
            #expect(taken == (row.isDue ? 1 : 0), "\(row)")
            guard row.isDue else { continue }
            let other = FleetTask.feedback.parameters(every: nil, worker: 2)
            let takenAgain = try await database.connection.execute(FleetTask.take, other)
            #expect(takenAgain == 0, "\(row)")
        }
    }
}
