import CarillonPostgres

/// The schema of a database beside that of this program, and what follows from both.
struct SchemaState: Sendable {
    /// A row of `carillon.schema_migrations`.
    struct Record: Decodable, Sendable, Equatable {
        let version: Int
        let name: String
        /// Nil where the file was run by hand.
        let checksum: String?
        let appliedAt: Moment
    }

    /// Nil if there is no schema.
    let records: [Record]?
    let known: [Migration]
    /// By version.
    let checksums: [Int: String]
    let routines: RoutineState

    init(records: [Record]?, known: [Migration] = Migration.all, checksums: [Int: String], routines: RoutineState) {
        self.records = records?.sorted { $0.version < $1.version }
        self.known = known
        self.checksums = checksums
        self.routines = routines
    }

    private var applied: [Record] { records ?? [] }

    /// Every known or applied migration, in order.
    var migrations: [MigrationState] {
        let applied = Dictionary(self.applied.map { ($0.version, $0) }, uniquingKeysWith: { first, _ in first })
        let states = known.map { migration in
            let record = applied[migration.version]
            return MigrationState(
                version: migration.version,
                name: migration.name,
                condition: record.map(condition) ?? .pending,
                appliedAt: record?.appliedAt
            )
        }
        let strangers = self.applied.filter { record in !known.contains { $0.version == record.version } }.map {
            MigrationState(version: $0.version, name: $0.name, condition: .unknown, appliedAt: $0.appliedAt)
        }
        return (states + strangers).sorted { $0.version < $1.version }
    }

    private func condition(of record: Record) -> MigrationState.Condition {
        guard let migration = known.first(where: { $0.version == record.version }) else { return .unknown }
        if migration.name != record.name { return .changed }
        if let checksum = record.checksum, checksum != checksums[record.version] { return .changed }
        return .applied
    }

    /// The next migration on the way up to that version, if any.
    func nextUp(to target: Int) throws(SchemaError) -> Migration? {
        try checkWhatIsThere()
        guard known.contains(where: { $0.version == target }) else { throw .unknownVersion(target, known: known) }
        let applied = Set(self.applied.map(\.version))
        return known.first { $0.version <= target && !applied.contains($0.version) }
    }

    /// The next migration on the way down to that version, if any. Version 0 is no schema.
    func nextDown(to target: Int) throws(SchemaError) -> Migration? {
        try checkWhatIsThere()
        guard target == 0 || known.contains(where: { $0.version == target }) else {
            throw .unknownVersion(target, known: known)
        }
        guard let last = applied.last, last.version > target else { return nil }
        return known.first { $0.version == last.version }
    }

    /// Whether all migrations are applied, when this one is as well.
    func isComplete(with migration: Migration?) -> Bool {
        migrations.allSatisfy { $0.condition == .applied || $0.version == migration?.version }
    }

    /// Throws if this program cannot use the schema.
    func checkReadiness() throws(SchemaError) {
        guard let records = self.records, !records.isEmpty else { throw .missing }
        try checkWhatIsThere()
        if let pending = migrations.first(where: { $0.condition == .pending }) {
            throw .outdated(at: records.last?.version ?? 0, next: pending)
        }
        try routines.checkReadiness()
    }

    private func checkWhatIsThere() throws(SchemaError) {
        for migration in migrations {
            switch migration.condition {
            case .unknown: throw .newer(migration, latest: known.last?.version ?? 0)
            case .changed: throw .changed(migration)
            case .applied, .pending: continue
            }
        }
        try routines.checkIsNotNewer()
    }
}
