package import Testing

extension TestDatabase {
    @TaskLocal fileprivate static var current: TestDatabase?

    /// A database with the schema, a credential, and an app named "demo", whose id is 1.
    package static func withDemo<R>(_ body: (_ database: TestDatabase) async throws -> R) async throws -> R {
        try await with(.schema) { database in
            try await database.run(
                """
                INSERT INTO carillon.certificates (name, certificate) VALUES ('main', 'unread');
                INSERT INTO carillon.apps (name, topic, certificate_id) VALUES ('demo', 'com.example.demo', 1)
                """
            )
            return try await body(database)
        }
    }
}

extension Trait where Self == TestScope<TestDatabase> {
    /// For ``database``: one with the schema, a credential, and an app named "demo", whose id is 1.
    package static var demo: Self { Self(TestDatabase.$current, TestDatabase.withDemo) }
}

/// The database of a test that has the trait `.demo`.
package var database: TestDatabase { TestScope.value(of: TestDatabase.$current) }
