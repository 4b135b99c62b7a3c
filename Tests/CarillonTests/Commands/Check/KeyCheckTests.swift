import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// The line `keys` of `carillon check`. Rights that hold in the whole cluster are rolled back, or in a cluster of their own.
@Suite struct KeyCheckTests {
    /// A right to read secrets that somebody was given.
    struct Right: CustomTestStringConvertible, Sendable {
        let statement: String
        /// Nil: it is no right to read secrets.
        let reader: String?

        var testDescription: String { statement }
    }

    static let rights = [
        Right(statement: "GRANT SELECT ON carillon.certificates TO stranger", reader: "stranger"),
        Right(statement: "GRANT SELECT (private_key) ON carillon.certificates TO stranger", reader: "stranger"),
        Right(statement: "GRANT SELECT (id, passphrase) ON carillon.certificates TO stranger", reader: "stranger"),
        Right(statement: "GRANT SELECT (certificate) ON carillon.certificates TO PUBLIC", reader: "PUBLIC"),
        Right(statement: "GRANT SELECT (jwt) ON carillon.provider_tokens TO stranger", reader: "stranger"),
        Right(statement: "GRANT TRIGGER ON carillon.certificates TO stranger", reader: "stranger"),
        Right(statement: "GRANT TRIGGER ON carillon.credential_input TO stranger", reader: "stranger"),
        Right(statement: "GRANT pg_read_all_data TO stranger", reader: "stranger"),
        Right(
            statement: "GRANT pg_read_all_data TO stranger; GRANT stranger TO other",
            reader: "stranger with its members"
        ),
        Right(statement: "GRANT SELECT (name, status), REFERENCES ON carillon.certificates TO stranger", reader: nil),
        Right(statement: "GRANT SELECT ON carillon.credential_input, carillon.apps TO stranger", reader: nil),
        Right(
            statement: "GRANT carillon_worker TO stranger; GRANT SELECT ON carillon.certificates TO stranger",
            reader: nil
        ),
        Right(statement: "ALTER DEFAULT PRIVILEGES GRANT UPDATE ON TABLES TO stranger", reader: nil),
        Right(statement: "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO carillon_reader", reader: nil),
    ]

    /// Whom `check` would name, and its command. The login is that of a worker, and the rights are taken back.
    private static func readers(
        after statement: String,
        in database: PostgresConnection
    ) async throws -> [String] {
        let (stranger, other) = ("stranger_\(database.backendProcessID)", "other_\(database.backendProcessID)")
        let statement = statement.replacing("stranger", with: stranger).replacing("other", with: other)
        try await database.script("BEGIN; CREATE ROLE \(stranger); CREATE ROLE \(other); \(statement)")
        try await database.script("SET LOCAL ROLE carillon_worker")
        let found: [Found] = try await database.values(of: CheckStatements.keyReaders)
        try await database.script("RESET ROLE")
        for row in found where row.way != "default" { try await database.script(row.command) }
        let left: [Found] = try await database.values(of: CheckStatements.keyReaders)
        try await database.script("ROLLBACK")
        return
            (found.map { "\($0.way): \($0.readers.joined(separator: ", "))" }
            + left.map { "still \($0.way): \($0.readers.joined(separator: ", "))" })
            .map { $0.replacing(stranger, with: "stranger") }
    }

    private struct Found: Decodable, Sendable {
        let way: String
        let readers: [String]
        let command: String
    }

    @Test(.demo, arguments: rights)
    func `whoever may read a secret column is named, with a command that ends it`(right: Right) async throws {
        let way = right.statement.contains("pg_read_all_data") ? "membership" : "grant"
        #expect(
            try await Self.readers(after: right.statement, in: database.connection)
                == right.reader.map { ["\(way): \($0)"] } ?? []
        )
    }

    @Test(.demo, arguments: ["", " IN SCHEMA carillon"])
    func `who may read all new tables of the owner is named, but not warned of`(place: String) async throws {
        #expect(
            try await Self.readers(
                after: "ALTER DEFAULT PRIVILEGES\(place) GRANT SELECT ON TABLES TO stranger",
                in: database.connection
            ) == ["default: stranger", "still default: stranger"]
        )
    }

    @Test(.demo) func `every column of the tables with secrets is known as secret or harmless`() async throws {
        let harmless = [
            "certificates": [
                "id", "name", "key_id", "team_id", "created_at", "updated_at", "not_after", "topics", "status",
                "last_error",
            ],
            "provider_tokens": ["certificate_id", "issued_at", "rests_until"],
            "export_tokens": ["app_id", "team_id", "not_after"],
            "webhooks": [
                "id", "name", "subscription_id", "url", "ca", "allows_private", "old_secret_until", "paused_at",
                "paused_by",
                "paused_reason",
                "created_at", "batch", "batch_id", "batch_at", "attempts", "next_attempt_at", "failing_since",
                "failed_at", "is_slow", "last_error", "accepted_at",
            ],
        ]
        for (table, columns) in CheckStatements.secrets where !columns.isEmpty {
            let known = (columns + (harmless[table] ?? [])).sorted()
            #expect(
                try await database.rows(
                    """
                    SELECT string_agg(a.attname, ' ' ORDER BY a.attname COLLATE "C") FROM pg_attribute a
                    WHERE a.attrelid = 'carillon.\(table)'::regclass AND a.attnum > 0 AND NOT a.attisdropped
                    """
                ) == ["(\"\(known.joined(separator: " "))\")"]
            )
        }
    }

    @Test
    func `a member of pg_read_all_data is named, and can neither be isolated nor stay so unnoticed`() async throws {
        try await TestDatabase.withOwnCluster { database, _ in
            func check() async throws -> String {
                try await ProgramRun.run(["check"], environment: ["DATABASE_URL": database.url]).output
            }
            try await database.run(
                """
                INSERT INTO carillon.apps (name, topic, gateway) VALUES ('demo', 'com.example.demo', 'localhost:1');
                CREATE ROLE stranger; GRANT pg_read_all_data TO stranger
                """
            )
            let isolate = "SELECT carillon.isolate_app('demo', 'stranger')"
            let error = await database.refusal(of: isolate)
            #expect(
                error?.message.contains("sees all apps as a member of pg_read_all_data") == true,
                "\(error?.message ?? "")"
            )
            var said = try await check()
            #expect(
                said.contains(
                    "warning  keys          Private keys can also be read by stranger, because of pg_read_all_data."
                )
            )
            let revoke = try #require(
                said.firstMatch(of: /run (REVOKE pg_read_all_data FROM stranger),/)?.output.1,
                "\(said)"
            )
            try await database.run(String(revoke))
            try await database.run(isolate)
            said = try await check()
            #expect(said.contains("ok       keys") && said.contains("ok       isolation"), "\(said)")
            try await database.run("GRANT pg_read_all_data TO stranger")
            said = try await check()
            #expect(
                said.contains("(stranger) can reach other apps: stranger is a member of pg_read_all_data."),
                "\(said)"
            )
        }
    }
}
