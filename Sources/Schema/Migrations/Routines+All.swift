import CarillonCMigrations

extension Routines {
    /// Of this program, in the order of `Sources/CMigrations/files.c`.
    package static let current = Routines(
        of: .current,
        functions: File.all.filter { $0.path.hasPrefix("functions/") },
        views: File.all.filter { $0.path.hasPrefix("views/") },
        rights: .at("rights.sql")
    )
}

extension Routines.File {
    /// All of `migrations/`, with and without a number.
    fileprivate static let all: [Self] = {
        let files = unsafe UnsafeBufferPointer(start: cmigrations_files(), count: cmigrations_count())
        return unsafe files.map { unsafe Self(String(cString: $0.path), String(cString: $0.text)) }
    }()

    static func at(_ path: String) -> Self {
        guard let file = all.first(where: { $0.path == path }) else {
            preconditionFailure("Sources/CMigrations/files.c does not list \(path).")
        }
        return file
    }
}
