import CarillonPostgres
import Testing

@testable import CarillonSchema

/// What is to be done with functions, views and rights, decided without a database.
@Suite struct RoutineStateTests {
    private static func file(_ path: String) -> Routines.File { Routines.File(path, "text") }

    private static let known = Routines(
        of: Release("0.10.0"),
        functions: [file("functions/one.sql"), file("functions/two.sql")],
        views: [file("views/inner.sql"), file("views/outer.sql")],
        rights: file("rights.sql")
    )

    /// Of a database in which this program has applied everything.
    private static func records(of release: String = "0.10.0") -> [RoutineState.Record] {
        known.files.map { record($0.path, of: release) }
    }

    private static func record(
        _ path: String,
        _ checksum: String? = "sum",
        of release: String = "0.10.0"
    ) -> RoutineState.Record {
        RoutineState.Record(file: path, checksum: checksum, release: Release(release), appliedAt: Moment(7))
    }

    static func state(
        _ records: [RoutineState.Record] = records(),
        views: Set<String> = ["inner", "outer"]
    ) -> RoutineState {
        let checksums = Dictionary(uniqueKeysWithValues: known.files.map { ($0.path, "sum") })
        return RoutineState(records: records, views: views, known: known, checksums: checksums)
    }

    private static func changing(_ changes: RoutineState.Record...) -> [RoutineState.Record] {
        records().filter { record in !changes.contains { $0.file == record.file } } + changes
    }

    @Test func `applied files are ready, whichever release has applied them`() throws {
        for release in ["0.9.0", "0.10.0", "0.11.0"] {
            let state = Self.state(Self.records(of: release))
            #expect(state.next == nil)
            #expect(state.status.condition == .applied)
            try state.checkReadiness()
        }
    }

    @Test func `without any, all are applied`() {
        let state = Self.state([], views: [])
        #expect(state.next == .everything)
        #expect(state.status == RoutineStatus(release: Release("0.10.0"), condition: .pending, appliedAt: nil))
        let error = #expect(throws: SchemaError.self) { try state.checkReadiness() }
        #expect(error?.code == .outdated)
        #expect(error?.message.contains("carillon migrate up") == true)
    }

    @Test func `one changed file, or one that this release no longer has, applies all`() {
        for records in [
            Self.changing(Self.record("functions/two.sql", "other", of: "0.9.0")),
            Self.changing(Self.record("rights.sql", "other")), Self.records() + [Self.record("views/gone.sql")],
            Self.records().dropLast(),
            // A file that has moved into a folder.
            Self.records().filter { $0.file != "functions/two.sql" } + [Self.record("functions/first/two.sql")],
        ] {
            let state = Self.state(Array(records))
            #expect(state.next == .everything)
            #expect(state.status.condition == .changed)
            let error = #expect(throws: SchemaError.self) { try state.checkReadiness() }
            #expect(error?.code == .outdated)
        }
        #expect(Self.state(Self.records() + [Self.record("views/gone.sql")]).strangers == ["gone"])
    }

    @Test func `views are replaced alone, in their order, and made with all others`() {
        let both = Self.changing(Self.record("views/outer.sql", "other"), Self.record("views/inner.sql", "other"))
        #expect(Self.state(both).next == .view(Self.file("views/inner.sql")))
        #expect(Self.state(both).sealedViews.isEmpty)
        let unrecorded = Self.records().filter { $0.file != "views/outer.sql" }
        #expect(Self.state(unrecorded).next == .view(Self.file("views/outer.sql")))
        #expect(Self.state(unrecorded).sealedViews == [Self.file("views/inner.sql")])
        #expect(Self.state(unrecorded, views: ["inner"]).next == .everything)
    }

    @Test func `functions of a newer release are not changed`() {
        for records in [
            Self.changing(Self.record("functions/two.sql", "other", of: "0.11.0")),
            Self.records(of: "0.11.0").dropLast(),
            Self.records(of: "0.9.0") + [Self.record("views/new.sql", of: "1.0.0")],
        ] {
            let state = Self.state(Array(records))
            #expect(state.status.condition == .unknown)
            for attempt in [{ try state.checkIsNotNewer() }, { try state.checkReadiness() }] as [() throws -> Void] {
                let error = #expect(throws: SchemaError.self) { try attempt() }
                #expect(error?.code == .newer)
                #expect(error?.message.contains("0.10.0") == true)
            }
        }
    }

    @Test func `files that psql has applied are ready, and applied again`() throws {
        let byHand = Self.known.files.map { Self.record($0.path, nil) }
        try Self.state(byHand).checkReadiness()
        #expect(Self.state(byHand).next == .everything)
        let older = Self.known.files.map { Self.record($0.path, nil, of: "0.9.0") }
        let error = #expect(throws: SchemaError.self) { try Self.state(older).checkReadiness() }
        #expect(error?.code == .outdated)
    }

    @Test func `releases are compared by number`() {
        #expect(["1.0.0", "0.10.0", "0.9.1", "0.9.0"].map(Release.init).sorted().map(\.description).first == "0.9.0")
        #expect(Release("0.9.0") < Release("0.10.0"))
        #expect(!(Release("0.10.0") < Release("0.10.0")))
    }
}
