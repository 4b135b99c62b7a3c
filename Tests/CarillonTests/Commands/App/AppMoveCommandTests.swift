import CarillonPostgres
import TestSupport
import Testing

@Suite(.shop) struct AppMoveCommandTests {
    @Test func `a move says its steps, and --status where the app is`() async throws {
        try await TestDatabase.with(.schema) { target in
            #expect(try await shop.run("app", "move", "shop", "--status").output == "shop: It has not been moved.\n")
            let moved = try await shop.run("app", "move", "shop", "--to", target.url)
            #expect(moved.status == 0, "\(moved.errors)")
            #expect(moved.output.contains("callers must use"), "\(moved.output)")
            #expect(moved.output.contains("Moved the app shop to "), "\(moved.output)")
            #expect(try await shop.run("app", "move", "shop", "--status").output.contains("It has moved to "))
            let there = try await shop.run("app", "move", "shop", "--status", "--json", "--database", target.url)
            #expect(there.output.contains(#""direction":"from""#), "\(there.output)")
            let refused = try await shop.run("send", "--app", "shop", "--token", Shop.token("aa"), "--alert", "hi")
            #expect(
                refused.status != 0 && refused.errors.contains("has moved to another database"),
                "\(refused.errors)"
            )
            let resumed = try await shop.run("app", "resume", "shop")
            #expect(resumed.status != 0 && resumed.errors.contains("cannot be resumed here"), "\(resumed.errors)")
            #expect(
                try await target.number("SELECT count(*) FROM carillon.apps WHERE name = 'shop' AND NOT paused") == 1
            )
        }
    }

    @Test func `a move without a target, and one whose target has such an app, are refused`() async throws {
        let missing = try await shop.run("app", "move", "shop")
        #expect(missing.status == 2 && missing.errors.contains("--to"), "\(missing.errors)")
        try await TestDatabase.with(.schema) { target in
            try await target.run("INSERT INTO carillon.apps (name) VALUES ('shop')")
            let taken = try await shop.run("app", "move", "shop", "--to", target.url)
            #expect(taken.status == 1 && taken.errors.contains("has an app named 'shop' already"), "\(taken.errors)")
            // Nothing of the refused move is left.
            #expect(try await shop.run("app", "move", "shop", "--status").output == "shop: It has not been moved.\n")
            #expect(try await shop.database.number("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'move%'") == 0)
            #expect(try await shop.run("app", "move", "shop", "--cancel").status == 0)
        }
    }

    @Test
    func `what a failed move could not undo is said after the reason, and which database it is in`() async throws {
        try await TestDatabase.with(.schema) { target in
            try await shop.database.run(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON carillon.moves FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            )
            try await target.run("INSERT INTO carillon.certificates (name, certificate) VALUES ('shop', 'another')")
            let failed = try await shop.run("app", "move", "shop", "--to", target.url)
            #expect(failed.errors.contains("another credential named shop"), "\(failed.errors)")
            let source = DatabaseLabel.of(shop.database.url)
            #expect(failed.errors.contains("could not be undone: In the source \(source): refused"), "\(failed.errors)")
            #expect(failed.errors.contains("undo the move with --cancel"), "\(failed.errors)")
            try await shop.database.run("DROP FUNCTION public.refuse CASCADE")
            let cancelled = try await shop.run("app", "move", "shop", "--cancel")
            #expect(cancelled.status == 0, "\(cancelled.errors)")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.moves") == 0)
        }
    }

    @Test func `a target that cannot be reached is named`() async throws {
        let failed = try await shop.run("app", "move", "shop", "--to", "host=/nonexistent dbname=d")
        #expect(failed.status == 69, "\(failed.errors)")
        #expect(failed.errors.contains("In the target /nonexistent/d: "), "\(failed.errors)")
    }

    @Test func `a move to the source itself is refused`() async throws {
        let itself = try await shop.run("app", "move", "shop", "--to", shop.database.url)
        #expect(itself.status != 0 && itself.errors.contains("is the source itself"), "\(itself.errors)")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.moves") == 0)
    }

    @Test func `the target may be named in a file, and --json prints where the app is`() async throws {
        try await TestDatabase.with(.schema) { target in
            try await TemporaryFolder.with { folder in
                let file = try folder.write("target.url", target.url)
                let moved = try await shop.run("app", "move", "shop", "--to-file", file, "--json")
                #expect(moved.status == 0, "\(moved.errors)")
                #expect(moved.output.hasPrefix(#"{"direction":"to""#), "\(moved.output)")
            }
        }
    }
}
