import CarillonPostgres
import TestSupport
import Testing

/// `carillon tokens import` of what a registration says about a token, besides its owner and its kind.
@Suite(.shop) struct TokenDetailsImportTests {
    private static let header = "token,last_update,owner,kind,environment,activity_type,time_zone,locale,attributes\n"
    private static let rows = """
        SELECT token, owner, environment, activity_type, time_zone, locale, attributes FROM carillon.tokens ORDER BY token
        """

    @Test func `the newest details of a token win, in the file and in the database, and those that are missing stay`()
        async throws
    {
        try await shop.database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner, locale, attributes)
            SELECT a.id, t, to_timestamp(1600000000), 'old', 'en', '{"old": 1}'
            FROM carillon.apps a, unnest(ARRAY['a1', 'a2', 'a3', 'a4']) t
            """
        )
        let file = try shop.folder.write(
            "tokens.csv",
            Self.header + #"""
                a1,1700000000,,,sandbox,Ride,europe/berlin,de_AT,
                a2,1500000000,,,sandbox,,,fr,"{""new"": 1}"
                a3,1700000000,new,,,,,,
                a4,1600000000,old,,,,,,"{""name"": ""it's \""new\""""}"
                b1,1500000001,one,,,,Asia/Tokyo,ja,"{""of"": ""one""}"
                b1,1500000002,two,,,,,en-GB,
                b2,,,,,,,,

                """#
        )
        let run = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(run.status == 0 && run.output.contains(": 2 new, 4 changed, 1 known already."), "\(run.errors)")
        let expected = [
            #"(a1,old,sandbox,Ride,Europe/Berlin,de-AT,"{""old"": 1}")"#, #"(a2,old,sandbox,,,en,"{""old"": 1}")"#,
            "(a3,new,,,,en,)", #"(a4,old,,,,en,"{""name"": ""it's \\""new\\""""}")"#, "(b1,two,,,Asia/Tokyo,en-GB,)",
            "(b2,,,,,,)",
        ]
        #expect(try await shop.database.rows(Self.rows) == expected)
        let again = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(again.output.contains(": 0 new, 1 changed, 6 known already."), "\(again.output)")
        #expect(try await shop.database.rows(Self.rows) == expected)
    }

    @Test func `a line whose details are not accepted is refused, and can be imported once it is corrected`()
        async throws
    {
        let file = try shop.folder.write(
            "tokens.csv",
            Self.header + """
                a1,,,,dev,,,,
                a2,2025-01-01 00:00:00+00,me,voip,sandbox,,PST,de,{}
                a3,,,,,,UTC,d e,
                a4,,,,,,UTC,,{broken
                a5,,,,,,,,[]
                a6,,,,,,UTC,,"{""plan"": ""pro""}"
                a7,,,,,,,,

                """
        )
        let (rejects, arguments) = (shop.folder.file("rejects.csv"), ["tokens", "import", "--app", "shop"])
        let role = ["DATABASE_URL": shop.database.url, "PGOPTIONS": "-c role=carillon_app"]
        let run = try await ProgramRun.run(arguments + ["--rejects", rejects, file], environment: role)
        #expect(run.status == 1 && run.output.hasPrefix("Imported 2 tokens into shop in "), "\(run.errors)")
        #expect(run.output.contains(": 2 new, 0 changed, 0 known already."))
        for refused in [
            #"line 2: argument "environment" takes production or sandbox, got 'dev': dev"#,
            #"line 3: argument "time_zone" takes the name of a time zone, such as Europe/Berlin, got 'PST': PST"#,
            #"line 4: argument "locale" takes a locale such as de or pt-BR, got 'd e': d e"#,
            #"line 5: argument "attributes" takes a JSON object, got "{broken": {broken"#,
            #"line 6: argument "attributes" takes a JSON object, got []: []"#, "5 lines were refused",
        ] {
            #expect(run.errors.contains(refused), "\(run.errors)")
        }
        let kept = try shop.folder.read("rejects.csv")
        #expect(kept.split(separator: "\n")[2].hasSuffix(",a2,1735689600000000,me,voip,sandbox,,PST,de,{}"), "\(kept)")
        let corrected = kept.replacing(",dev,", with: ",,").replacing(",PST,", with: ",Asia/Tokyo,").replacing(
            "d e",
            with: "de"
        )
        .replacing("{broken", with: "{}").replacing("[]", with: "{}")
        let second = try await ProgramRun.run(
            arguments + [shop.folder.write("corrected.csv", corrected)],
            environment: role
        )
        #expect(second.status == 0, "\(second.errors)")
        #expect(
            try await shop.database.rows(Self.rows) == [
                "(a1,,,,,,)", "(a2,me,sandbox,,Asia/Tokyo,de,{})", "(a3,,,,UTC,de,)", "(a4,,,,UTC,,{})", "(a5,,,,,,{})",
                #"(a6,,,,UTC,,"{""plan"": ""pro""}")"#, "(a7,,,,,,)",
            ]
        )
    }

    @Test func `a line without details keeps those of the token, but no attributes of another owner`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner, locale, attributes)
            SELECT a.id, t, now() - interval '1 day', 'old', 'en', '{"old": 1}'
            FROM carillon.apps a, unnest(ARRAY['a1', 'a2', 'a3']) t
            """
        )
        let file = try shop.folder.write("tokens.csv", "a1\na2,,old\na3,,new\n")
        #expect(try await shop.run("tokens", "import", "--app", "shop", file).status == 0)
        #expect(
            try await shop.database.rows("SELECT token, owner, locale, attributes FROM carillon.tokens ORDER BY 1")
                == [#"(a1,old,en,"{""old"": 1}")"#, #"(a2,old,en,"{""old"": 1}")"#, "(a3,new,en,)"]
        )
    }

    @Test func `a broken byte in a detail is refused with its line`() async throws {
        let file = try shop.folder.write("tokens.csv", "token,locale\na1,d\0e\na2,de\n")
        let run = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(run.status == 1 && run.errors.contains("line 2: the locale contains a NUL character"), "\(run.errors)")
        #expect(try await shop.database.rows("SELECT token, locale FROM carillon.tokens") == ["(a2,de)"])
    }

    /// The rules are in both.
    @Test func `an imported token has the details that register_token gives it`() async throws {
        var file = "token,owner,environment,activity_type,time_zone,locale,attributes\n"
        var script = """
            INSERT INTO carillon.apps (name, topic) VALUES ('twin', 'com.example.twin');
            INSERT INTO carillon.tokens (app_id, token, last_update, owner, environment, activity_type, time_zone, locale, attributes)
            SELECT a.id, u.state || n || '0', now() - interval '1 day', u.owner, 'sandbox', 'Old', 'UTC', 'en', '{"old": 1}'
            FROM carillon.apps a, generate_series(10, 19) n, (VALUES ('a', NULL), ('b', 'old')) AS u(state, owner);

            """
        let details = [
            ["", "", "", "", "", ""], ["new", "", "", "", "", ""], ["old", "", "", "", "", ""],
            ["", "production", "New", "asia/tokyo", "de_DE", "{}"], ["new", "", "", "", "pt", #"{"a": "'"}"#],
        ]
        for state in ["a", "b", "c"] {
            for (place, values) in details.enumerated() {
                let token = "\(state)1\(place)0"
                file +=
                    ([token] + values).map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ",") + "\n"
                let arguments = zip(["owner", "environment", "activity_type", "time_zone", "locale"], values)
                    .map { ", \($0) => nullif('\($1)', '')" }.joined()
                let attributes = "nullif('\(values[5].replacing("'", with: "''"))', '')::jsonb"
                script +=
                    "SELECT carillon.register_token('twin', '\(token)'\(arguments), attributes => \(attributes));\n"
            }
        }
        try await shop.database.run(script)
        let run = try await shop.run("tokens", "import", "--app", "shop", shop.folder.write("tokens.csv", file))
        #expect(run.status == 0, "\(run.errors)")
        let rows = """
            SELECT t.token, t.owner, t.environment, t.activity_type, t.time_zone, t.locale, t.attributes
            FROM carillon.tokens t JOIN carillon.apps a ON a.id = t.app_id WHERE a.name =
            """
        let imported = try await shop.database.rows("\(rows) 'shop' ORDER BY 1")
        #expect(imported == (try await shop.database.rows("\(rows) 'twin' ORDER BY 1")))
        #expect(imported.count == 25)
    }
}
