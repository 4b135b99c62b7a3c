import CarillonPostgres
import Testing

@testable import CarillonSchema

/// What is to be done with a schema, decided without a database.
@Suite struct SchemaStateTests {
    private static let known = (1...3).map { Migration($0, "step\($0)", up: "up \($0)", down: "") }
    private static let checksums = [1: "one", 2: "two", 3: "three"]

    private static func state(_ records: [SchemaState.Record]?) -> SchemaState {
        SchemaState(records: records, known: known, checksums: checksums, routines: RoutineStateTests.state())
    }

    private static func record(_ version: Int, name: String? = nil, checksum: String? = nil) -> SchemaState.Record {
        SchemaState.Record(version: version, name: name ?? "step\(version)", checksum: checksum, appliedAt: Moment(7))
    }

    @Test func `without a schema the first migration is next, and none can be undone`() throws {
        let state = Self.state(nil)
        #expect(try state.nextUp(to: 3)?.version == 1)
        #expect(try state.nextUp(to: 1)?.version == 1)
        #expect(try state.nextDown(to: 0) == nil)
        #expect(throws: SchemaError.self) { try state.checkReadiness() }
        #expect(state.migrations.map(\.condition) == [.pending, .pending, .pending])
    }

    @Test func `a complete schema is ready, and is undone from its end`() throws {
        let state = Self.state([Self.record(2, checksum: "two"), Self.record(1, checksum: "one"), Self.record(3)])
        try state.checkReadiness()
        #expect(try state.nextUp(to: 3) == nil)
        #expect(try state.nextDown(to: 0)?.version == 3)
        #expect(try state.nextDown(to: 2)?.version == 3)
        #expect(try state.nextDown(to: 3) == nil)
        #expect(state.migrations.map(\.appliedAt?.microseconds) == [7, 7, 7])
    }

    @Test func `the error of an older schema names the missing migration`() throws {
        let state = Self.state([Self.record(1)])
        #expect(try state.nextUp(to: 3)?.version == 2)
        #expect(try state.nextUp(to: 1) == nil)
        let error = #expect(throws: SchemaError.self) { try state.checkReadiness() }
        #expect(error?.code == .outdated)
        #expect(error?.message.contains("carillon migrate up") == true)
        #expect(error?.message.contains("2 (step2)") == true)
    }

    @Test func `a missing migration in the middle is applied`() throws {
        #expect(try Self.state([Self.record(1), Self.record(3)]).nextUp(to: 3)?.version == 2)
    }

    @Test func `a newer schema is not changed`() throws {
        let state = Self.state((1...3).map { Self.record($0) } + [Self.record(4, name: "future")])
        #expect(state.migrations.last?.condition == .unknown)
        for attempt in [
            { _ = try state.nextUp(to: 3) }, { _ = try state.nextDown(to: 0) }, { try state.checkReadiness() },
        ] as [() throws -> Void] {
            let error = #expect(throws: SchemaError.self) { try attempt() }
            #expect(error?.code == .newer)
            #expect(error?.message.contains("version 4 (future)") == true)
        }
    }

    @Test func `a migration with another text or name counts as changed`() throws {
        for record in [Self.record(2, checksum: "other"), Self.record(2, name: "other")] {
            let state = Self.state([Self.record(1), record])
            #expect(state.migrations.map(\.condition) == [.applied, .changed, .pending])
            let error = #expect(throws: SchemaError.self) { try state.nextUp(to: 3) }
            #expect(error?.code == .changed)
        }
    }

    @Test(arguments: [4, -1])
    func `an unknown version is refused`(_ version: Int) {
        let error = #expect(throws: SchemaError.self) { try Self.state(nil).nextUp(to: version) }
        #expect(error?.code == .unknownVersion)
        #expect(throws: SchemaError.self) { try Self.state(nil).nextDown(to: version) }
    }
}
