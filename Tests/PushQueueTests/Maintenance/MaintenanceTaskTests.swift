import Testing

@testable import CarillonPushQueue

@Suite struct MaintenanceTaskTests {
    @Test func `every name of a maintenance task has a task`() {
        #expect(Set(MaintenanceTask.all.map(\.name)) == Set(MaintenanceTask.Name.allCases))
    }
}
