import CarillonPostgres

/// Creates and drops the tests' databases. The migrations run once for a process: every database with the schema is a
/// copy of one template.
actor DatabaseCopies {
    private static let start = Task {
        try await DatabaseCopies(in: TestCluster.shared)
    }

    static var shared: DatabaseCopies {
        get async throws { try await start.value }
    }

    private static let template = "schema_template"

    /// One session: PostgreSQL refuses to copy a database while another session is connected to it, such as another copy.
    private let administration: PostgresConnection
    /// Copies files rather than pages where the server lets one choose (from version 15 on): less than half the work for
    /// databases this small.
    private let strategy: String
    private var number = 0
    private var migration: Task<Void, any Error>?

    private init(in cluster: PrivateCluster) async throws {
        administration = try await PostgresConnection.connect(
            cluster.url(),
            application: "test databases",
            timeout: TestCluster.connectTimeout
        )
        let version = try await administration.query(
            Statement("version", "SELECT current_setting('server_version_num')::int8")
        ) { rows in try rows.int64(0, 0) }
        strategy = version >= 150_000 ? " STRATEGY file_copy" : ""
    }

    /// Returns the name of a new database.
    func create(_ contents: TestDatabase.Contents) async throws -> String {
        // For an empty database too: the roles belong to the cluster, and stay while the template has its grants.
        try await migrated()
        let template = contents == .schema ? Self.template : "template0"
        number += 1
        let name = "test_\(number)"
        try await administration.script("CREATE DATABASE \(name) TEMPLATE \(template)\(strategy)")
        if contents == .schema { try await settle(in: name) }
        return name
    }

    /// The installation lives in the copy.
    private func settle(in name: String) async throws {
        let url = try await TestCluster.patientURL(database: name)
        let connection = try await PostgresConnection.connect(url, application: "test databases")
        try await connection.script(
            "UPDATE carillon.installation SET database_oid = (carillon.this_database()).database_oid"
        )
        await connection.close()
    }

    func drop(_ name: String) async throws {
        try await administration.script("DROP DATABASE \(name) WITH (FORCE)")
    }

    private func migrated() async throws {
        if migration == nil {
            migration = Task { [administration] in
                try await administration.script("CREATE DATABASE \(Self.template) TEMPLATE template0")
                let url = try await TestCluster.patientURL(database: Self.template)
                try await TestDatabase.migrate(url)
                // The first session fills the cache of the catalogs, which is copied too.
                try await PostgresConnection.connect(url).close()
                // A session in the template would block the copies.
                try await administration.script(
                    "ALTER DATABASE \(Self.template) WITH IS_TEMPLATE true ALLOW_CONNECTIONS false"
                )
            }
        }
        try await migration?.value
    }
}
