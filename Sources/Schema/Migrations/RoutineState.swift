import CarillonPostgres

/// The functions, views and rights of a database beside those of this program, and what follows from both.
struct RoutineState: Sendable {
    /// A row of `carillon.schema_routines`.
    struct Record: Decodable, Sendable, Equatable {
        let file: String
        /// Nil where it was applied by the output of `carillon migrate sql`.
        let checksum: String?
        let release: Release
        let appliedAt: Moment
    }

    /// What is to be applied.
    enum Step: Sendable, Equatable {
        case everything
        /// The text of a view has changed, and nothing else that is not applied.
        case view(Routines.File)
    }

    let records: [Record]
    /// The names of the views that exist.
    let views: Set<String>
    let known: Routines
    /// By path.
    let checksums: [String: String]

    /// The release whose functions these are. After it has begun to apply its own, some files may still be of an older one.
    private var release: Release? { records.map(\.release).max() }

    private func record(of file: Routines.File) -> Record? { records.first { $0.file == file.path } }

    private func isSealed(_ file: Routines.File) -> Bool {
        guard let checksum = record(of: file)?.checksum else { return false }
        return checksum == checksums[file.path]
    }

    /// Whether the file is in the database as this program has it, or is said to be.
    private func isApplied(_ file: Routines.File) -> Bool {
        guard let record = record(of: file) else { return false }
        return record.checksum == nil ? record.release == known.release : isSealed(file)
    }

    private var hasStrangers: Bool {
        !Set(records.map(\.file)).isSubset(of: known.files.map(\.path))
    }

    private var isCurrent: Bool { !hasStrangers && known.files.allSatisfy(isApplied) }

    /// What this program has to do with it.
    var status: RoutineStatus {
        guard let release else { return RoutineStatus(release: known.release, condition: .pending, appliedAt: nil) }
        return RoutineStatus(
            release: release,
            condition: isCurrent ? .applied : release > known.release ? .unknown : .changed,
            appliedAt: records.map(\.appliedAt).max()
        )
    }

    /// What `migrate up` does next, if anything.
    var next: Step? {
        let unsealed = known.files.filter { !isSealed($0) }
        guard !hasStrangers else { return .everything }
        guard let first = unsealed.first else { return nil }
        return unsealed.allSatisfy { known.views.contains($0) && views.contains($0.name) } ? .view(first) : .everything
    }

    /// The files of views whose text is applied.
    var sealedViews: [Routines.File] { known.views.filter(isSealed) }

    /// The names of views that another release has made, and this one does not have.
    var strangers: [String] {
        records.map(\.file).filter { path in
            path.hasPrefix("views/") && !known.views.contains { $0.path == path }
        }.map(Routines.name)
    }

    func checkIsNotNewer() throws(SchemaError) {
        if status.condition == .unknown { throw .newer(status, than: known.release) }
    }

    func checkReadiness() throws(SchemaError) {
        try checkIsNotNewer()
        if !isCurrent { throw .outdated(status, known.release) }
    }
}
