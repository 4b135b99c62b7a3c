import CarillonPostgres
import TestSupport
import Testing

/// Triggers of watched tables run with the rights of `carillon_reaper`. Where they would run with more, nothing runs.
@Suite(.demo) struct ReaperRightsTests {
    private static let watched = """
        CREATE SCHEMA team;
        GRANT USAGE ON SCHEMA team TO PUBLIC;
        CREATE TABLE team.stolen (who text, secret text);
        GRANT INSERT ON team.stolen TO PUBLIC;
        CREATE TABLE team.devices (token text, updated timestamptz);
        INSERT INTO team.devices VALUES ('aa', '2020-01-01Z');
        CREATE FUNCTION team.steal() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO team.stolen SELECT current_user, c.certificate FROM carillon.certificates c;
            RETURN OLD;
        EXCEPTION WHEN insufficient_privilege THEN
            RETURN OLD;
        END $$;
        CREATE TRIGGER steal BEFORE DELETE ON team.devices FOR EACH ROW EXECUTE FUNCTION team.steal();
        GRANT SELECT, DELETE ON team.devices TO carillon_reaper;
        INSERT INTO carillon.tokens VALUES (1, 'aa', '2020-01-01Z');
        SELECT carillon.watch_tokens('demo', 'team.devices', 'token', 'updated');
        INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, 'aa', '2020-01-02Z')
        """

    /// What makes triggers run with more rights than they should, and a part of what is said of it.
    private static let dangers = [
        // As after a restore by somebody who may not give a function to the role, or with --no-owner.
        ("ALTER FUNCTION carillon.as_reaper OWNER TO CURRENT_USER", "carillon.as_reaper belongs to postgres"),
        ("ALTER FUNCTION carillon.as_reaper SECURITY INVOKER", "carillon.as_reaper is not SECURITY DEFINER"),
        ("ALTER ROLE carillon_reaper SUPERUSER", "carillon_reaper is a superuser"),
        ("ALTER ROLE carillon_reaper CREATEROLE", "carillon_reaper has CREATEROLE"),
        ("ALTER ROLE carillon_reaper BYPASSRLS", "carillon_reaper has BYPASSRLS"),
        ("GRANT USAGE ON SCHEMA carillon TO carillon_reaper", "carillon_reaper has rights in the schema carillon"),
        ("GRANT CREATE ON SCHEMA carillon TO carillon_reaper", "carillon_reaper has rights in the schema carillon"),
        ("GRANT USAGE ON SCHEMA carillon TO PUBLIC", "PUBLIC has rights in the schema carillon"),
        ("GRANT carillon_worker TO carillon_reaper", "carillon_reaper has the rights of carillon_worker"),
        ("GRANT pg_read_server_files TO carillon_reaper", "carillon_reaper has the rights of pg_read_server_files"),
    ]

    @Test(arguments: Self.dangers.map { ($0.0, $0.1) })
    func `a watched table is not reaped while its triggers would have too many rights`(
        _ danger: String,
        _ said: String
    ) async throws {
        try await database.run(Self.watched)
        // Roles belong to the whole cluster: no other test sees what is not committed.
        try await database.run("BEGIN; \(danger); SET ROLE carillon_worker")
        let dead = try await database.rows("SELECT relation, tokens, fault IS NULL FROM carillon.reapable()")
        #expect(dead == ["(carillon.tokens,1,t)", "(team.devices,,f)"])
        // Tokens of Carillon's own are nobody's to watch.
        #expect(try await database.value("carillon.reap()") == "1")
        try await database.run("RESET ROLE")
        #expect(try await database.rows("TABLE team.stolen").isEmpty)
        #expect(try await database.value("SELECT count(*) FROM team.devices") == "1")
        let fault = try #require(try await database.value("SELECT last_error FROM carillon.watched_tables"))
        #expect(fault.contains(said), "\(fault)")
        // What it says mends it, and what was missed is made up for.
        let remedy = try #require(fault.firstMatch(of: /Have a superuser.* run: (.*)/)?.output.1, "\(fault)")
        try await database.run(String(remedy))
        try await database.run("SET ROLE carillon_worker")
        #expect(try await database.value("carillon.reap()") == "1")
        try await database.run("RESET ROLE")
        #expect(try await database.rows("SELECT last_error, missed_from FROM carillon.watched_tables") == ["(,)"])
        #expect(try await database.rows("TABLE team.stolen").isEmpty)
        try await database.run("ROLLBACK")
    }

    @Test func `the deleting function runs only as carillon_reaper`() async throws {
        for danger in ["OWNER TO CURRENT_USER", "SECURITY INVOKER"] {
            try await database.run("BEGIN; ALTER FUNCTION carillon.as_reaper \(danger); SET ROLE carillon_worker")
            let refused = await database.refusal(of: "SELECT carillon.as_reaper('SELECT 1', 'pg_catalog', '{}', '{}')")
            #expect(refused?.sqlState == "55000", "\(danger): \(refused?.message ?? "it ran")")
            try await database.run("ROLLBACK")
        }
        try await database.run("SET ROLE carillon_worker")
        #expect(try await database.value("carillon.as_reaper('SELECT 1', 'pg_catalog', '{}', '{}')") == "1")
        try await database.run("RESET ROLE")
    }
}
