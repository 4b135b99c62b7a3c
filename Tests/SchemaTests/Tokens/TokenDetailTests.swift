import CarillonPostgres
import TestSupport
import Testing

/// What a registration says about a token: environment, activity type, time zone, locale and attributes.
@Suite(.demo) struct TokenDetailTests {
    private static let details = "SELECT environment, activity_type, time_zone, locale, attributes FROM carillon.tokens"

    private func register(_ arguments: String) async throws {
        _ = try await database.value("carillon.register_token('demo', 'aabb'\(arguments))")
    }

    @Test
    func `a token has no details unless a registration gives some, and keeps those that a later one does not name`()
        async throws
    {
        try await register("")
        #expect(try await database.rows(Self.details) == ["(,,,,)"])
        try await register(
            """
            , environment => 'sandbox', activity_type => 'RideAttributes', time_zone => 'Europe/Vienna', locale => 'de-AT',
                attributes => '{"plan": "pro"}'
            """
        )
        let first = #"(sandbox,RideAttributes,Europe/Vienna,de-AT,"{""plan"": ""pro""}")"#
        #expect(try await database.rows(Self.details) == [first])
        for others in ["", ", 'ann'", ", kind => 'push_to_start'", ", expires_at => now() + interval '1 day'"] {
            try await register(others)
            #expect(try await database.rows(Self.details) == [first], "\(others)")
        }
        try await register(", environment => 'production', time_zone => 'Asia/Tokyo', attributes => '{\"age\": 1}'")
        #expect(
            try await database.rows(Self.details) == [#"(production,RideAttributes,Asia/Tokyo,de-AT,"{""age"": 1}")"#]
        )
    }

    @Test
    func `the attributes of one owner are not kept for another, and those of a device are kept for its first owner`()
        async throws
    {
        let attributes = "SELECT owner, attributes FROM carillon.tokens"
        try await register(", attributes => '{\"plan\": \"pro\"}', locale => 'de'")
        try await register(", owner => 'ann'")
        #expect(try await database.rows(attributes) == [#"(ann,"{""plan"": ""pro""}")"#])
        try await register(", owner => 'bob'")
        #expect(try await database.rows(attributes) == ["(bob,)"])
        try await register(", owner => 'eve', attributes => '{}'")
        #expect(try await database.rows(attributes) == ["(eve,{})"])
        #expect(try await database.value("SELECT locale FROM carillon.tokens") == "de")
    }

    @Test(arguments: [
        ("de", "de"), ("de_DE", "de-DE"), ("zh_Hans_CN", "zh-Hans-CN"), ("en_US@rg=dezzzz", "en-US"),
        ("en-001", "en-001"), ("de_DE.UTF-8", "de-DE"), ("pt-BR", "pt-BR"),
    ])
    func `a locale is kept with hyphens, and without what is added to it`(given: String, kept: String) async throws {
        try await register(", locale => '\(given)'")
        #expect(try await database.value("SELECT locale FROM carillon.tokens") == kept)
    }

    @Test func `every time zone of PostgreSQL is taken, in any case, and no abbreviation or rule`() async throws {
        #expect(
            try await database.rows(
                """
                SELECT z.name FROM pg_timezone_names z WHERE z.name NOT LIKE 'posix/%'
                    AND (carillon.time_zone(z.name) IS DISTINCT FROM z.name OR carillon.time_zone(lower(z.name)) IS NULL)
                """
            ) == []
        )
        try await database.run("SET timezone = 'Asia/Tokyo'")
        try await register(", time_zone => 'europe/berlin'")
        #expect(try await database.value("SELECT time_zone FROM carillon.tokens") == "Europe/Berlin")
        #expect(try await database.value("SELECT current_setting('timezone')") == "Asia/Tokyo")
        for zone in ["PST", "CEST", "Berlin-1", "UTC+3", "GMT+0200", "Etc/GMT+13", "EST6", "Nowhere", "local", "", " "]
        {
            let error = await #expect(throws: PostgresError.self, "\(zone)") {
                try await register(", time_zone => '\(zone)'")
            }
            #expect(error?.message.hasPrefix("argument \"time_zone\" takes the name of a time zone") == true)
        }
    }

    @Test(arguments: [
        ("environment", "'dev'", "production or sandbox", "environment_is_known"),
        ("activity_type", "''", "text of 1 to 255 bytes", "activity_type_has_1_to_255_bytes"),
        ("activity_type", "repeat('é', 128)", "text of 1 to 255 bytes", "activity_type_has_1_to_255_bytes"),
        ("time_zone", "repeat('x', 65)", "the name of a time zone", "time_zone_has_1_to_64_bytes"),
        ("locale", "repeat('x', 65)", "a locale", "locale_has_1_to_64_bytes"),
        ("locale", "''", "a locale", "locale_has_1_to_64_bytes"),
        ("attributes", "'[]'::jsonb", "a JSON object", "attributes_are_an_object_of_4096_bytes_at_most"),
        ("attributes", "'null'::jsonb", "a JSON object", "attributes_are_an_object_of_4096_bytes_at_most"),
        (
            "attributes", "jsonb_build_object('a', repeat('é', 2044))", "a JSON object of at most 4096 bytes",
            "attributes_are_an_object_of_4096_bytes_at_most"
        ),
    ])
    func `a detail that does not fit is refused, by the function and by the table`(
        name: String,
        value: String,
        takes: String,
        constraint: String
    ) async throws {
        let refused = await #expect(throws: PostgresError.self) { try await register(", \(name) => \(value)") }
        #expect(refused?.message.hasPrefix("argument \"\(name)\" takes \(takes)") == true, "\(refused?.message ?? "")")
        let error = await #expect(throws: PostgresError.self) {
            try await database.run("INSERT INTO carillon.tokens (app_id, token, \(name)) VALUES (1, 'aa', \(value))")
        }
        #expect(error?.message.contains("\"tokens_\(constraint)\"") == true, "\(error?.message ?? "")")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "0")
    }

    @Test func `the longest details fit`() async throws {
        try await register(
            ", activity_type => repeat('x', 255), attributes => jsonb_build_object('a', repeat('é', 2043))"
        )
        #expect(try await database.value("SELECT octet_length(attributes::text) FROM carillon.tokens") == "4095")
    }
}
