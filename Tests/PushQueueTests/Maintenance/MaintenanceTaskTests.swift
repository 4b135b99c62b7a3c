import Testing

@testable import CarillonPushQueue

@Suite struct MaintenanceTaskTests {
    @Test func `every name of a maintenance task has one task`() {
        #expect(
            MaintenanceTask.all.map(\.name.rawValue).sorted() == MaintenanceTask.Name.allCases.map(\.rawValue).sorted()
        )
    }
}
