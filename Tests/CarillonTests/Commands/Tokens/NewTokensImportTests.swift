import CarillonIO
import TestSupport
import Testing

/// `carillon tokens import` copies batches of new tokens straight into the table of tokens, and merges all others.
@Suite(.shop) struct NewTokensImportTests {
    /// Keeps the first word of each statement that has inserted tokens.
    private static let watch = """
        CREATE TABLE public.ways (way text);
        CREATE FUNCTION public.note_way() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO public.ways VALUES (substring(current_query() FROM '[A-Z]+'));
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER note_way BEFORE INSERT ON carillon.tokens FOR EACH STATEMENT EXECUTE FUNCTION public.note_way();

        """

    private static func token(_ number: Int) -> String { String(0x100000 + number, radix: 16) }

    private static func file(of count: Int) throws -> String {
        let lines = (0..<count).map { "\(token($0)),2020-09-13 12:26:40+00,user \($0)\n" }
        return try shop.folder.write("tokens.csv", lines.joined())
    }

    private static func ways() async throws -> [String] {
        try await shop.database.rows("SELECT way, count(*) FROM public.ways GROUP BY 1 ORDER BY 1")
    }

    @Test
    func `batches after one of new tokens are copied until a token is known, with the same result`() async throws {
        try await shop.database.run(Self.watch)
        var lines = (0..<100_000).map { number in
            let time = number.isMultiple(of: 3) ? "" : "1600000000"
            let owner = number.isMultiple(of: 5) ? "" : "user \(number)"
            return "\(Self.token(number)),\(time),\(owner)\n"
        }
        // Two of the third batch are known by then. No copy is tried for the fourth.
        lines += ["\(Self.token(1)),1600000001,\n", "\(Self.token(2)),1500000000,other\n"]
        lines += (100_000..<150_000).map { "\(Self.token($0)),,\n" }
        let file = try shop.folder.write("tokens.csv", lines.joined())
        let run = try await shop.run("tokens", "import", "--app", "shop", file)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.hasPrefix("Imported 150,002 tokens into shop in "))
        #expect(run.output.contains(": 150,000 new, 1 changed, 1 known already."))
        // A copy has 5,000 rows.
        #expect(try await Self.ways() == ["(COPY,10)", "(WITH,3)"])
        let name = try #require(try await shop.database.value("current_database()"))
        let errors = try await TestCluster.errors(of: name)
        #expect(errors.values.map(\.count) == [1], "\(errors)")
        let right = """
            SELECT count(*) FROM carillon.tokens t JOIN generate_series(0, 99999) n ON t.token = to_hex(1048576 + n)
            WHERE t.owner IS NOT DISTINCT FROM CASE WHEN n % 5 <> 0 THEN 'user ' || n END
                AND CASE WHEN n % 3 = 0 THEN t.last_update BETWEEN now() - interval '5 minutes' AND now()
                    ELSE t.last_update = to_timestamp(1600000000 + (n = 1)::int) END
                AND t.badge = 0 AND t.kind = 'device' AND t.expires_at IS NULL
            """
        #expect(try await shop.database.number(right) == 100_000)
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 150_000)
    }

    @Test func `a token that another session registers meanwhile keeps its newer time`() async throws {
        try await shop.database.run(Self.watch)
        let file = try Self.file(of: 60_000)
        let token = Self.token(55_000)
        try await shop.database.session { other in
            try await other.run(
                """
                BEGIN; INSERT INTO carillon.tokens (app_id, token, last_update, owner)
                SELECT id, '\(token)', to_timestamp(1700000000), 'other' FROM carillon.apps
                """
            )
            async let importing = shop.run("tokens", "import", "--app", "shop", file)
            let waiting = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'transactionid' AND query LIKE 'COPY carillon.tokens %'
                """
            try await TestLoop.shared.eventually("a copy waits for the other session") {
                try await shop.database.number(waiting) == 1
            }
            try await other.run("COMMIT")
            let run = try await importing
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.contains(": 59,999 new, 0 changed, 1 known already."))
        }
        #expect(try await Self.ways() == ["(BEGIN,1)", "(WITH,2)"])
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 60_000)
        let row = "SELECT extract(epoch FROM last_update)::int, owner FROM carillon.tokens WHERE token = '\(token)'"
        #expect(try await shop.database.rows(row) == ["(1700000000,other)"])
    }

    @Test func `while row-level security limits the user, every batch is merged`() async throws {
        try await shop.database.run(Self.watch + "ALTER TABLE carillon.tokens ENABLE ROW LEVEL SECURITY")
        let run = try await ProgramRun.run(
            ["tokens", "import", "--app", "shop", try Self.file(of: 60_000)],
            environment: ["DATABASE_URL": shop.database.url, "PGOPTIONS": "-c role=carillon_app"]
        )
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(": 60,000 new, 0 changed, 0 known already."))
        #expect(try await Self.ways() == ["(WITH,2)"])
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 60_000)
    }
}
