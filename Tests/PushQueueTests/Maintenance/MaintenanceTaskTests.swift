import Testing

@testable import CarillonPushQueue

@Suite struct MaintenanceTaskTests {
    @Test func `every task that has a name is done`() {
        #expect(MaintenanceTask.all.map(\.name) == MaintenanceTask.Name.allCases)
    }
}
