import CarillonIO
import CarillonPostgres
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// `carillon tokens import`, from outside.
@Suite(.shop) struct TokensImportTests {
    private static func rows(_ shop: Shop) async throws -> [String] {
        try await shop.database.connection.query(
            Statement(
                "rows",
                """
                SELECT concat_ws(' ', token, floor(extract(epoch FROM last_update) * 1000)::bigint, owner)
                FROM carillon.tokens ORDER BY token
                """
            )
        ) { rows in try rows.indices.map { try rows.string($0, 0) } }
    }

    @Test func `a token has the kind of its line, or else of --kind, and keeps it when neither names one`() async throws
    {
        let rows = Statement(
            "kinds",
            """
            SELECT concat_ws(' ', token, kind, extract(epoch FROM expires_at - last_update)::bigint / 3600)
            FROM carillon.tokens ORDER BY token
            """
        )
        func kinds() async throws -> [String] {
            try await shop.database.connection.query(rows) { rows in try rows.indices.map { try rows.string($0, 0) }
            }
        }
        let file = try shop.folder.write("tokens.csv", "kind,token\nwidget,a1\n,a2\npush_to_start,a3\nPhone,a4\n")
        let first = try await shop.run("tokens", "import", "--app", "shop", "--kind", "live_activity", file)
        #expect(first.status == 1)
        #expect(first.errors.contains("line 5: the kind is not device, complication, "))
        #expect(!first.errors.contains("does not know"))
        #expect(try await kinds() == ["a1 widget", "a2 live_activity 12", "a3 push_to_start"])
        let list = try shop.folder.write("list.txt", "a1\na5\n")
        let second = try await shop.run("tokens", "import", "--app", "shop", list)
        #expect(second.status == 0, "\(second.errors)")
        #expect(try await kinds() == ["a1 widget", "a2 live_activity 12", "a3 push_to_start", "a5 device"])
        let third = try await shop.run("tokens", "import", "--app", "shop", "--kind", "control", list)
        #expect(third.status == 0, "\(third.errors)")
        #expect(try await kinds()[3] == "a5 control")
        let unknown = try shop.folder.write("unknown.csv", "kind,token\nspatial,a1\nspatial,a2\n,a3\n")
        let fourth = try await shop.run("tokens", "import", "--app", "shop", "--kind", "depth", unknown)
        #expect(fourth.status == 0, "\(fourth.errors)")
        #expect(fourth.errors.contains("warning: Carillon does not know these kinds of tokens: depth, spatial."))
        #expect(try await kinds() == ["a1 spatial", "a2 spatial", "a3 depth", "a5 control"])
        let refused = try await shop.run("tokens", "import", "--app", "shop", "--kind", "Depth", unknown)
        #expect(refused.status == 2 && refused.errors.contains("--kind takes device, "), "\(refused.errors)")
    }

    @Test func `the newest registration wins, in the file and in the database, and its owner with it`() async throws {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner)
            SELECT a.id, t, to_timestamp(1600000000), 'old' FROM carillon.apps a, unnest(ARRAY['a1', 'a2', 'a3', 'a4']) t
            """
        )
        let file = try shop.folder.write(
            "tokens.csv",
            """
            owner,token,last_update
            new,A1,1700000000
            new,a2,1500000000
            ,a3,1700000000
            new,a4,1600000000
            first,b1,1500000001
            second,b1,1500000003
            third,b1,1500000002
            kept,b2,1500000001
            ,b2,1500000003
            """
        )
        let expected = [
            "a1 1700000000000 new", "a2 1600000000000 old", "a3 1700000000000 old", "a4 1600000000000 new",
            "b1 1500000003000 second", "b2 1500000003000 kept",
        ]
        let first = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.hasPrefix("Imported 9 tokens into shop in "))
        #expect(first.output.contains(": 2 new, 3 changed, 4 known already."))
        #expect(try await Self.rows(shop) == expected)
        // Again: nothing is written, not even a lock on a row.
        let versions = "SELECT sum(xmin::text::bigint + xmax::text::bigint)::bigint FROM carillon.tokens"
        let before = try await shop.database.number(versions)
        let again = try await shop.run("tokens", "import", "--app", "shop", file, "--json")
        #expect(again.output.contains(#""imported":9,"new":0,"changed":0,"known":9,"refused":0,"last_line":10"#))
        #expect(again.output.contains(#""complete":true"#))
        let after = try await shop.database.number(versions)
        #expect(before == after)
        #expect(try await Self.rows(shop) == expected)
    }

    /// The rules are in both: a call for each line would be too slow.
    @Test func `an imported token becomes what register_token makes of it`() async throws {
        var file = "token,owner,kind\n"
        var script = """
            INSERT INTO carillon.apps (name, topic) VALUES ('twin', 'com.example.twin');
            INSERT INTO carillon.tokens (app_id, token, last_update, owner, kind, expires_at)
            SELECT a.id, u.state || n || '0', now() - interval '1 day', u.owner, u.kind, now() FROM carillon.apps a, generate_series(10, 19) n,
                (VALUES ('a', NULL, 'widget'), ('b', 'old', 'live_activity')) AS u(state, owner, kind);

            """
        for state in ["a", "b", "c"] {
            for (place, (owner, kind)) in [("", ""), ("new", ""), ("", "voip"), ("new", "live_activity")].enumerated() {
                let token = "\(state)1\(place)"
                file += "\(token)0,\(owner),\(kind)\n"
                script +=
                    "SELECT carillon.register_token('twin', '\(token)0', nullif('\(owner)', ''), nullif('\(kind)', ''));\n"
            }
        }
        try await shop.database.run(script)
        let path = try shop.folder.write("tokens.csv", file)
        #expect(try await shop.run("tokens", "import", "--app", "shop", path).status == 0)
        let rows = """
            SELECT t.token, t.owner, t.kind, date_trunc('hour', t.expires_at - t.last_update), t.last_update > now() - interval '1 hour'
            FROM carillon.tokens t JOIN carillon.apps a ON a.id = t.app_id WHERE a.name =
            """
        let imported = try await shop.database.rows("\(rows) 'shop' ORDER BY 1")
        #expect(imported == (try await shop.database.rows("\(rows) 'twin' ORDER BY 1")))
        #expect(imported.count == 24)
    }

    @Test func `a token without a time is one of now`() async throws {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner)
            SELECT id, 'aa', now() - interval '1 day', 'me' FROM carillon.apps
            """
        )
        let file = try shop.folder.write("tokens", "aa\nbb\n")
        let environment = ["DATABASE_URL": shop.database.url]
        let run = try await ProgramRun.run(
            ["tokens", "import", "--app", "shop", "-"],
            environment: environment,
            input: .file(file)
        )
        #expect(run.status == 0 && run.output.contains(": 1 new, 1 changed, 0 known"))
        let fresh = try await shop.database.number(
            """
            SELECT count(*) FROM carillon.tokens
            WHERE last_update > now() - interval '1 minute' AND owner IS NOT DISTINCT FROM
                CASE token WHEN 'aa' THEN 'me' END
            """
        )
        #expect(fresh == 2)
        let one = try shop.folder.write("token", "cc\n")
        let single = try await shop.run("tokens", "import", "--app", "shop", one)
        #expect(single.output.hasPrefix("Imported 1 token into shop in "))
    }

    @Test func `a hundred thousand lines come in by an application's role, but for those that are refused`()
        async throws
    {
        // A thousand refused lines, and nine tokens that come twice.
        let lines = (1...100_000).map { line in
            let token = line.isMultiple(of: 100) ? "none" : Shop.token(String(line % 99_990, radix: 16) + "f")
            return "\(token),2025-01-01 00:00:00+00,user \(line)\n"
        }
        let file = try shop.folder.write("tokens.csv", "token,last_update,owner\n" + lines.joined())
        let rejects = shop.folder.file("rejects.csv")
        let role = ["DATABASE_URL": shop.database.url, "PGOPTIONS": "-c role=carillon_app"]
        let run = try await ProgramRun.run(
            ["tokens", "import", "--app", "shop", "--rejects", rejects, file],
            environment: role
        )
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.output.hasPrefix("Imported 99,000 tokens"))
        let told = run.errors.split(separator: "\n")
        #expect(told.count == 11 && told[0] == "line 101: the token has characters that are not hex digits: none")
        #expect(told[10].contains("1,000 lines were refused; these are the first 10."))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 98_991)
        let kept = try shop.folder.read("rejects.csv").split(separator: "\n")
        let details = "environment,activity_type,time_zone,locale,attributes"
        #expect(kept.count == 1001 && kept[0] == "line,reason,token,last_update,owner,kind,\(details)")
        let last = kept[1000]
        #expect(last.hasPrefix("100001,") && last.hasSuffix(",none,2025-01-01 00:00:00+00,user 100000,,,,,,"))
        // What was refused can be mended in place and imported.
        let mended = try shop.folder.write("mended.csv", kept.joined(separator: "\n").replacing("none", with: "aa"))
        let second = try await ProgramRun.run(["tokens", "import", "--app", "shop", mended], environment: role)
        #expect(second.status == 0 && second.errors.contains("line, reason"))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 98_992)
    }

    @Test(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `an import works behind a pooler`() async throws {
        let name = try #require(shop.database.url.split(separator: "?").first?.split(separator: "/").last)
        let cluster = try await TestCluster.shared
        try await TestPooler.with(size: 1, before: cluster, on: TestLoop.shared) { pooler in
            let lines = (0..<120_000).map { "\(String(0x100000 + $0, radix: 16))\n" }.joined()
            let file = try shop.folder.write("tokens", lines)
            let run = try await ProgramRun.run(
                ["tokens", "import", "--app", "shop", file],
                environment: ["DATABASE_URL": pooler.url(database: String(name))]
            )
            #expect(run.status == 0, "\(run.errors)")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 120_000)
        }
    }

    @Test func `an interrupted import keeps what it has read and says how far it came`() async throws {
        try await TestLoop.with { loop in
            let (ours, theirs) = try SocketPair().release()
            defer { close(ours) }
            let run = try BackgroundProgram(
                ["tokens", "import", "--app", "shop", "-"],
                environment: ["DATABASE_URL": shop.database.url],
                in: shop.folder,
                input: .descriptor(theirs)
            )
            close(theirs)
            let text = Array("aa\nbb\nzz\ncc\ndd".utf8)
            #expect(write(ours, text, text.count) == text.count)
            _ = try await run.line(containing: "line 3: ", on: loop)
            #expect(try await run.end(by: SIGINT, on: loop) == .status(75))
            #expect(run.said.contains("Imported 3 tokens") && run.said.contains("up to line 4"))
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 3)
        }
    }

    @Test func `when PostgreSQL ends it, it says how far it came`() async throws {
        try await shop.database.connection.script("ALTER TABLE carillon.tokens ADD CHECK (token <> 'ff')")
        let lines = (0..<60_000).map { "\(String(0x100000 + $0, radix: 16))\n" }.joined()
        let file = try shop.folder.write("tokens", lines + "ff\n")
        let run = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(run.status == 1 && run.errors.contains("check constraint"))
        #expect(run.output.hasPrefix("Imported 50,000 tokens") && run.errors.contains("up to line 50000."))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 50_000)
    }

    @Test func `an import that is impossible says so before it begins`() async throws {
        let file = try shop.folder.write("tokens", "device_token,updated\naa,\n")
        let none = try await shop.run("tokens", "import", "--app", "shpo", file)
        #expect(none.status == 1 && none.errors.contains("There is no app named shpo."))
        #expect(none.errors.contains("The apps are: shop."))
        let header = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(header.status == 78 && header.errors.contains("has no column 'token'"))
        let missing = try await shop.run("tokens", "import", "--app", "shop", shop.folder.file("missing"))
        #expect(missing.status == 78 && missing.errors.contains("no such file"))
        let folder = try await shop.run("tokens", "import", "--app", "shop", shop.folder.path)
        #expect(folder.status == 78 && folder.errors.contains("folder"))
        let same = try await shop.run("tokens", "import", "--app", "shop", file, "--rejects", file)
        #expect(same.status == 78 && same.errors.contains("read from it"))
        #expect(try shop.folder.read("tokens") == "device_token,updated\naa,\n")
        #expect(try await shop.run("tokens", "import", file).status == 2)
        let empty = try await shop.run("tokens", "import", "--app", "shop", "/dev/null")
        #expect(empty.status == 0 && empty.output.hasPrefix("Imported 0 tokens"))
    }
}
