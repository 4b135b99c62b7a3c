import CarillonPushQueue
import CarillonSchema
import FoundationEssentials
import Testing

/// The program carries the files of `migrations/`, which people read: they must be the same.
@Suite struct MigrationFilesTests {
    private static let folder: URL = {
        var url = URL(filePath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url.appending(path: "migrations")
    }()

    private static func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
    }

    @Test func `the program contains every file on disk, and no other`() throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".sql")
        }
        let carried =
            Migration.all.flatMap { ["\($0.title).down.sql", "\($0.title).up.sql"] }
            + Routines.current.files.map(\.path)
        #expect(files.sorted() == carried.sorted())
    }

    @Test(arguments: Migration.all)
    func `the texts in the program are those of the files`(_ migration: Migration) throws {
        let up = try Self.text("\(migration.title).up.sql")
        let down = try Self.text("\(migration.title).down.sql")
        #expect(migration.up == up)
        #expect(migration.down == down)
    }

    @Test func `the functions, views and rights in the program are those of the files`() throws {
        for file in Routines.current.files { #expect(try file.text == Self.text(file.path), "\(file.path)") }
    }

    @Test func `versions have no gap`() {
        #expect(Migration.all.map(\.version) == Array(1...Migration.all.count))
        #expect(Migration.latest == Migration.all.count)
    }

    @Test(arguments: Migration.all)
    func `a file that is run by psql records itself`(_ migration: Migration) {
        let record = "INSERT INTO carillon.schema_migrations (version, name) VALUES"
        #expect(migration.up.hasSuffix("\n\(record) (\(migration.version), '\(migration.name)');\n"))
        if migration.version > 1 {
            let end = "DELETE FROM carillon.schema_migrations WHERE version = \(migration.version);\n"
            #expect(migration.down.hasSuffix(end))
        }
    }

    @Test(arguments: Migration.all)
    func `no file is too long to read`(_ migration: Migration) {
        let lines = migration.up.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count < 400)
    }
}
