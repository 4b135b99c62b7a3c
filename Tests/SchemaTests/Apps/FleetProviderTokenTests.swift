import CarillonPostgres
import TestSupport
import Testing

/// The provider token of the fleet, as `carillon.provider_token` returns it.
@Suite(.demo) struct FleetProviderTokenTests {
    private static let now = "extract(epoch FROM clock_timestamp())::bigint"

    /// What a worker gets that has minted a token, or has not, and whose last token APNs may have refused.
    private static func ask(
        _ database: TestDatabase,
        _ minted: String? = nil,
        isRefused: Bool = false,
        at time: String = now
    ) async throws -> String? {
        let refused =
            isRefused ? "(SELECT floor(extract(epoch FROM p.issued_at))::bigint FROM carillon.provider_tokens p)" : "0"
        if let minted {
            try await database.run(
                """
                INSERT INTO carillon.provider_token_input (certificate_id, since, refused_at, jwt, issued_at)
                SELECT c.id, c.updated_at, \(refused), '\(minted)', \(time) FROM carillon.certificates c WHERE c.id = 1
                """
            )
        }
        return try await database.value(
            """
            SELECT t.token FROM carillon.certificates c, carillon.provider_token(c.id, c.updated_at, \(refused)) t WHERE c.id = 1
            """
        )
    }

    private static func age(_ seconds: Int) -> String {
        "UPDATE carillon.provider_tokens SET issued_at = clock_timestamp() - interval '\(seconds) s'"
    }

    @Test func `the first provider token is used by all workers, and a second one is discarded`() async throws {
        #expect(try await Self.ask(database) == nil)
        #expect(try await Self.ask(database, "one") == "one")
        #expect(try await Self.ask(database, "two") == "one")
        #expect(try await Self.ask(database) == "one")
    }

    @Test(arguments: [
        // Seconds of age, whether it was refused, whether it is replaced.
        (2990, false, false), (3001, false, true), (1190, true, false), (1201, true, true), (-30, false, false),
        (-3000, false, true),
    ])
    func `a provider token is replaced when it is old, or when it was refused and is not new`(
        _ age: Int,
        _ isRefused: Bool,
        _ isReplaced: Bool
    ) async throws {
        _ = try await Self.ask(database, "old")
        try await database.run(Self.age(age))
        #expect(try await Self.ask(database, isRefused: isRefused) == (isReplaced ? nil : "old"))
        #expect(try await Self.ask(database, "new", isRefused: isRefused) == (isReplaced ? "new" : "old"))
    }

    @Test func `no provider token is replaced before rests_until, however old it is`() async throws {
        _ = try await Self.ask(database, "old")
        try await database.run(Self.age(4000))
        try await database.run("UPDATE carillon.provider_tokens SET rests_until = now() + interval '20 minutes'")
        #expect(try await Self.ask(database, "new", isRefused: true) == "old")
        try await database.run("UPDATE carillon.provider_tokens SET rests_until = now() - interval '1 s'")
        #expect(try await Self.ask(database, "new", isRefused: true) == "new")
    }

    /// Otherwise no worker could mint a token, or none for a century.
    @Test(arguments: ["infinity", "-infinity", "294276-12-31", "4713-01-01 BC"])
    func `a provider token with an odd time is replaced, and an odd rest keeps no old one`(time: String) async throws {
        _ = try await Self.ask(database, "first")
        try await database.run("UPDATE carillon.provider_tokens SET issued_at = '\(time)'")
        #expect(try await Self.ask(database, "second") == "second")
        try await database.run(Self.age(4000) + ", rests_until = '\(time)'")
        #expect(try await Self.ask(database, "third") == "third")
    }

    @Test
    func `a rest that is longer than APNs asks for began before the clock was set back, and is over`() async throws {
        _ = try await Self.ask(database, "old")
        try await database.run(Self.age(4000) + ", rests_until = now() + interval '1 hour'")
        #expect(try await Self.ask(database, "new") == "new")
    }

    @Test func `a provider token of a replaced key, or with a wrong time, is not stored`() async throws {
        #expect(try await Self.ask(database, "late", at: "\(Self.now) - 3600") == nil)
        let before = try #require(try await database.value("SELECT c.updated_at FROM carillon.certificates c"))
        _ = try await Self.ask(database, "one")
        try await database.run("UPDATE carillon.certificates SET private_key = 'another'")
        #expect(try await database.value("SELECT count(*) FROM carillon.provider_tokens") == "0")
        try await database.run(
            "INSERT INTO carillon.provider_token_input VALUES (1, '\(before)', NULL, 'one', \(Self.now))"
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.provider_tokens") == "0")
    }

    @Test func `a provider token that another database has had for a while is stored, unless APNs has refused it`()
        async throws
    {
        let age = "\(Self.now) - 2700"
        try await database.run(
            """
            INSERT INTO carillon.provider_token_input (certificate_id, since, refused_at, jwt, issued_at)
            SELECT c.id, c.updated_at, a.age, 'refused', a.age
            FROM carillon.certificates c CROSS JOIN (SELECT \(age) AS age OFFSET 0) a WHERE c.id = 1
            """
        )
        #expect(try await Self.ask(database) == nil)
        #expect(try await Self.ask(database, "theirs", at: age) == "theirs")
        #expect(try await Self.ask(database, "new") == "theirs")
    }

    @Test func `of several provider tokens minted at the same time, one is stored`() async throws {
        let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<12 {
                group.addTask {
                    try await database.session { session in
                        // As a worker does. On a busy machine the others may hold the row for longer than it waits.
                        while true {
                            do {
                                return try await Self.ask(session, "token \(number)")
                            } catch let error as PostgresError where error.sqlState == "55P03" {
                                continue
                            }
                        }
                    }
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
    }
}
