import TestSupport
import Testing

@testable import CarillonPushQueue

@Suite struct MaintenanceTaskTests {
    @Test func `every task that has a name is done`() {
        #expect(MaintenanceTask.all.map(\.name) == MaintenanceTask.Name.allCases)
    }

    @Test func `each task of the fleet has its row, and sleepers wake for it`() async throws {
        let tasks = MaintenanceTask.all.compactMap { task -> String? in
            guard case .fleet = task.means else { return nil }
            return task.name.rawValue
        }
        let awaited = MaintenanceState(WorkerOptions(), seed: 7).awaited.map { $0.name }
        // Requests for channels are no task of the fleet.
        #expect(Set(awaited) == Set(tasks + ["channels"]))
        try await TestDatabase.with(.schema) { database in
            let rows = try await database.rows("SELECT c.name FROM carillon.fleet_tasks c")
            #expect(Set(rows) == Set(tasks.map { "(\($0))" }))
        }
    }
}
