import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import TestSupport
import Testing

@Suite struct MigratorTests {
    @Test func `up applies every version once, in order, and records the texts`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let migrator = Migrator(connection)
            #expect(try await migrator.status().allSatisfy { $0.condition == .pending })
            #expect(try await migrator.up() == Migration.all)
            #expect(try await migrator.up().isEmpty)
            let states = try await migrator.status()
            #expect(states.map(\.version) == Migration.all.map(\.version))
            #expect(states.allSatisfy { $0.condition == .applied && $0.appliedAt != nil })
            try await SchemaCheck.run(on: connection)
            let sealed = Statement(
                "sealed",
                "SELECT count(*) FROM carillon.schema_migrations WHERE length(checksum) = 64"
            )
            #expect(try await connection.query(sealed) { try $0.int64(0, 0) } == Int64(Migration.latest))
        }
    }

    @Test func `down removes everything, and up makes the same again`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let migrator = Migrator(connection)
            _ = try await migrator.up()
            let before = try await SchemaFingerprint.read(connection)
            #expect(before.count > 60)
            #expect(try await migrator.down() == Migration.all.reversed())
            #expect(try await SchemaFingerprint.read(connection).isEmpty)
            let schema = Statement("schema", "SELECT count(*) FROM pg_namespace WHERE nspname = 'carillon'")
            #expect(try await connection.query(schema) { try $0.int64(0, 0) } == 0)
            _ = try await migrator.up()
            #expect(try await SchemaFingerprint.read(connection) == before)
        }
    }

    @Test func `migrations can stop at every version, up and down`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let migrator = Migrator(connection)
            var steps: [[String]] = []
            for version in 1...Migration.latest {
                #expect(try await migrator.up(to: version).map(\.version) == [version])
                steps.append(try await SchemaFingerprint.read(connection))
            }
            for version in (1..<Migration.latest).reversed() {
                #expect(try await migrator.down(to: version).map(\.version) == [version + 1])
                #expect(try await SchemaFingerprint.read(connection) == steps[version - 1])
            }
        }
    }

    @Test func `undoing a schema that nobody has used yet loses nothing`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let applied = try await Migrator(connection).up().map(\.version)
            let loss = try await SchemaLoss.of(goingTo: 0, from: applied, on: connection)
            #expect(loss.tables.isEmpty, "\(loss.tables)")
        }
    }

    @Test func `nobody may delete from watched tables before rights are granted, on the way up or down`() async throws {
        try await TestDatabase.with(.nothing) { database in
            let migrator = Migrator(database.connection)
            func expectClosed(_ what: String) async throws {
                let deleting = "'carillon.as_reaper(text, text, text[], timestamptz[])'"
                for role in ["public", "carillon_app", "carillon_worker"] {
                    let mayDelete = "has_function_privilege('\(role)', \(deleting), 'EXECUTE')"
                    #expect(try await database.value(mayDelete) == "false", "\(role), \(what)")
                }
            }
            for version in [6, 7] {
                _ = try await migrator.up(to: version)
                try await expectClosed("up to \(version)")
            }
            _ = try await migrator.up()
            for version in [Migration.latest, 7, 6] {
                _ = try await migrator.down(to: version)
                try await expectClosed("down to \(version)")
            }
        }
    }

    @Test(arguments: Migration.all)
    func `a migration records that it was applied, and its way back forgets it`(_ migration: Migration) {
        #expect(
            migration.up.contains(
                "INSERT INTO carillon.schema_migrations (version, name) VALUES (\(migration.version), '\(migration.name)');"
            ),
            "without this statement, `migrate up` would apply it again"
        )
        let forgets = "DELETE FROM carillon.schema_migrations WHERE version = \(migration.version);"
        #expect(migration.version == 1 || migration.down.contains(forgets))
    }

    @Test func `several programs that start at once share the work`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let applied = try await withThrowingTaskGroup(of: [Migration].self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let connection = try await PostgresConnection.connect(url)
                        let applied = try await Migrator(connection).up()
                        try await SchemaCheck.run(on: connection)
                        await connection.close()
                        return applied
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied.sorted { $0.version < $1.version } == Migration.all)
        }
    }

    @Test func `databases of one cluster keep their roles when another is migrated down`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await TestDatabase.connected(.nothing) { connection, _ in
                        for _ in 0..<3 {
                            _ = try await Migrator(connection).up()
                            try await SchemaCheck.run(on: connection)
                            _ = try await Migrator(connection).down()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `without a schema the error says what to run`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let missing = await #expect(throws: SchemaError.self) { try await SchemaCheck.run(on: connection) }
            #expect(missing?.code == .missing)
            #expect(missing?.message.contains("carillon migrate up") == true)
            _ = try await Migrator(connection).up(to: 3)
            let outdated = await #expect(throws: SchemaError.self) { try await SchemaCheck.run(on: connection) }
            #expect(outdated?.code == .outdated)
        }
    }

    @Test func `a schema that is newer than the program, or has another text, is not changed`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let migrator = Migrator(connection)
            _ = try await migrator.up()
            try await connection.script("INSERT INTO carillon.schema_migrations VALUES (9000, 'future')")
            let newer = await #expect(throws: SchemaError.self) { try await SchemaCheck.run(on: connection) }
            #expect(newer?.code == .newer)
            await #expect(throws: SchemaError.self) { try await migrator.down() }
            #expect(try await migrator.status().last?.condition == .unknown)
            try await connection.script(
                """
                DELETE FROM carillon.schema_migrations WHERE version = 9000;
                UPDATE carillon.schema_migrations SET checksum = 'other' WHERE version = 2
                """
            )
            let changed = await #expect(throws: SchemaError.self) { try await migrator.up() }
            #expect(changed?.code == .changed)
        }
    }

    @Test func `the printed SQL makes the same schema, which the program accepts`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            for migration in Migration.all.prefix(5) { try await connection.script(migration.up) }
            #expect(try await Migrator(connection).up() == Array(Migration.all.dropFirst(5)))
            let made = try await SchemaFingerprint.read(connection)
            _ = try await Migrator(connection).down()
            try await connection.script(try Migrator.sql())
            #expect(try await SchemaFingerprint.read(connection) == made)
            try await SchemaCheck.run(on: connection)
        }
        let third = try Migrator.sql(after: 2, to: 3)
        #expect(third.hasPrefix("-- 0003_queue.up.sql\nBEGIN;") && !third.contains("0004"))
    }

    @Test func `a migration that fails is rolled back`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE SCHEMA carillon; CREATE TABLE carillon.apps (id int)")
            let error = await #expect(throws: SchemaError.self) { try await Migrator(connection).up() }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("0002_apps") == true)
            #expect((error?.underlying as? PostgresError)?.sqlState == "42P07")
            let states = try await Migrator(connection).status()
            #expect(states.filter { $0.condition == .applied }.map(\.version) == [1])
        }
    }

    @Test func `a database with another encoding than UTF-8 is refused`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            let name = "latin_\(connection.backendProcessID)"
            try await connection.script(
                "CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
            )
            let other = try await PostgresConnection.connect(TestCluster.shared.url(database: name))
            let error = await #expect(throws: SchemaError.self) { try await Migrator(other).up() }
            #expect(error?.message.contains("Carillon needs UTF8") == true)
            await other.close()
            try await connection.script("DROP DATABASE \(name) WITH (FORCE)")
        }
    }
}
