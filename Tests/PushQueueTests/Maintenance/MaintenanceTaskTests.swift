import Testing

@testable import PushQueue

@Suite struct MaintenanceTaskTests {
    @Test func `a worker does every maintenance task that has a name`() {
        #expect(Set(MaintenanceTask.all.map(\.name)) == Set(MaintenanceTask.Name.allCases))
    }
}
