import TestSupport
import Testing

/// How claims are stored, which depends on what the server was built with.
@Suite(.demo) struct CompressionTests {
    /// The storage of a claim, and its compression: x is EXTENDED, e is EXTERNAL, and l is LZ4.
    private static let stored = """
        SELECT a.attstorage::text || a.attcompression::text FROM pg_attribute a
        WHERE a.attrelid = 'carillon.inflight'::regclass AND a.attname = 'jobs'
        """

    private static func hasLZ4(_ database: TestDatabase) async throws -> Bool {
        try await database.number(
            "SELECT count(*) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)"
        ) == 1
    }

    @Test func `a claim is compressed with LZ4 where the server has it, and otherwise not at all`() async throws {
        let hasLZ4 = try await Self.hasLZ4(database)
        #expect(try await database.value(Self.stored) == (hasLZ4 ? "xl" : "e"))
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 1, 1, array_agg(carillon.job(id => i, lane => 1::smallint, tokens => '{aa}', payload => '{}'))
            FROM generate_series(1, 1000) i
            """
        )
        let used = try await database.value("SELECT pg_column_compression(f.jobs) FROM carillon.inflight f")
        #expect(used == (hasLZ4 ? "lz4" : nil))
    }

    /// As after a restore without the compression of columns, or an upgrade of a server that had no LZ4.
    @Test(arguments: ["adopt", "choose_compression"], ["EXTENDED", "EXTERNAL", "MAIN"])
    func `another way of storing claims is put right`(call: String, storage: String) async throws {
        try await database.run(
            """
            ALTER TABLE carillon.inflight ALTER jobs SET STORAGE \(storage), ALTER jobs SET COMPRESSION pglz;
            SELECT carillon.\(call)()
            """
        )
        let hasLZ4 = try await Self.hasLZ4(database)
        let stored = try await database.value(Self.stored) ?? ""
        #expect(hasLZ4 ? stored == "xl" : stored.hasPrefix("e"), "\(stored)")
    }

    @Test func `a transaction that reads claims stops no upgrade, and the next one puts them right`() async throws {
        try await database.run("ALTER TABLE carillon.inflight ALTER jobs SET STORAGE MAIN")
        try await database.session { reader in
            try await reader.run("BEGIN; SELECT FROM carillon.inflight")
            try await database.run("SELECT carillon.choose_compression()")
            #expect(try await database.value(Self.stored)?.hasPrefix("m") == true)
            try await reader.run("COMMIT")
        }
        try await database.run("SELECT carillon.choose_compression()")
        #expect(try await database.value(Self.stored)?.hasPrefix("m") == false)
    }
}
