import CarillonIO
import CarillonPostgres
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// `carillon try`, as somebody uses it who has never seen it.
@Suite struct TryCommandTests {
    /// Returns what it said, and how long it took to end.
    @discardableResult private static func with(
        _ words: [String] = [],
        endedBy signal: CInt = SIGINT,
        _ body: (BackgroundProgram, PostgresConnection, EventLoop) async throws -> Void
    ) async throws -> (said: String, ended: Duration) {
        try await TestLoop.with { loop in
            try await TemporaryFolder.with { folder in
                let program = try BackgroundProgram(["try"] + words, in: folder)
                let psql = try await program.line(containing: "psql '", on: loop)
                let url = String(try #require(psql.split(separator: "'").dropFirst().first))
                let connection = try await PostgresConnection.connect(url, on: loop)
                try await attempt {
                    try await body(program, connection, loop)
                } finally: {
                    await connection.close()
                }
                let asked = MonotonicInstant.now
                #expect(try await program.end(by: signal, on: loop) == .status(0))
                let ended = MonotonicInstant.now - asked
                #expect(program.said.contains("has been stopped."))
                let host = try #require(url.split(separator: "host=").last?.split(separator: "&").first)
                #expect(!FileManager.default.fileExists(atPath: String(host).replacing("%2F", with: "/")))
                return (program.said, ended)
            }
        }
    }

    @Test
    func `the call that try prints works in psql, its outcome is shown, and nothing is left of it`() async throws {
        try await Self.with { program, connection, loop in
            let enqueue = try await program.line(containing: "SELECT carillon.enqueue(", on: loop)
            try await connection.script(enqueue)
            _ = try await program.line(containing: "200  {\"aps\":{\"alert\":\"Your table is ready\"", on: loop)
            _ = try await program.line(containing: "Message 1: 1 sent, after 1 attempt.", on: loop)
            try await connection.script(
                """
                SELECT carillon.enqueue('try', ARRAY['\(Shop.token("dead"))', '\(Shop.token("503"))',
                    '\(Shop.token("bad0"))', '\(Shop.token("bad1"))'], alert => 'x')
                """
            )
            _ = try await program.line(containing: "410 Unregistered", on: loop)
            _ = try await program.line(containing: "Pushes will be retried.", on: loop)
            _ = try await program.line(
                containing: "Message 2: 1 sent, 3 failed, after 3 attempts (2 BadDeviceToken, 1 Unregistered).",
                on: loop
            )
        }
    }

    @Test func `headers are shown where they are not the usual ones`() async throws {
        try await Self.with { program, connection, loop in
            try await connection.script(
                """
                UPDATE carillon.apps SET topics = '{com.example.other}';
                SELECT carillon.enqueue('try', ARRAY['\(Shop.token("aa"))'], content_available => true);
                SELECT carillon.enqueue('try', ARRAY['\(Shop.token("ac"))'], 'x', push_type => 'voip');
                SELECT carillon.enqueue('try', ARRAY['\(Shop.token("ab"))'], 'x', priority => 5, collapse_id => 'score',
                    topic => 'com.example.other', expires_at => '2099-01-01 00:00:00+00')
                """
            )
            let quiet = try await program.line(containing: "  push type background, priority 5  {\"aps\"", on: loop)
            #expect(quiet.hasPrefix("APNs      aa"))
            _ = try await program.line(containing: "  200  push type voip, topic com.example.try.voip  {", on: loop)
            _ = try await program.line(
                containing: "  priority 5, collapse id score, topic com.example.other, expires 2099-01-01T00:00:00Z  {",
                on: loop
            )
        }
    }

    @Test func `expired and cancelled messages have a line each that says so`() async throws {
        try await Self.with { program, connection, loop in
            try await connection.script(
                """
                SELECT carillon.enqueue('try', ARRAY(SELECT lpad(to_hex(i), 64, '0') FROM generate_series(1, 2500) i), 'x',
                    run_at => now() + interval '1 hour');
                SELECT carillon.cancel_broadcast(1)
                """
            )
            _ = try await program.line(containing: "Message 1: 0 sent, 2,500 cancelled.", on: loop)
            try await connection.script(
                """
                SELECT carillon.enqueue('try', ARRAY['\(Shop.token("aa"))'], 'x',
                    expires_at => now() - interval '1 hour')
                """
            )
            let expired = try await program.line(containing: " 1 expired", on: loop)
            #expect(expired.hasPrefix("Message 4: 0 sent, 1 expired"))
            #expect(program.said.split(separator: "\n").filter { $0.hasPrefix("Message ") }.count == 2)
        }
    }

    @Test
    func `with a push in flight and others held it ends within seconds, and says what has not ended`() async throws {
        let rules = ["--answer", "aa=silence", "--answer", "ab=403:BadEnvironmentKeyIdInToken"]
        let (said, ended) = try await Self.with(rules, endedBy: SIGTERM) { program, connection, loop in
            // With a signing key, a connection takes one push until the first is answered.
            try await connection.script("SELECT carillon.enqueue('try', ARRAY['\(Shop.token("cc"))'], 'x')")
            _ = try await program.line(containing: " 1 sent", on: loop)
            try await connection.script(
                "SELECT carillon.enqueue('try', ARRAY['\(Shop.token("aa"))', '\(Shop.token("ab"))'], 'x')"
            )
            _ = try await program.line(containing: "403 BadEnvironmentKeyIdInToken", on: loop)
        }
        #expect(ended < .seconds(25))
        #expect(said.contains("APNs      aa000000…  no answer") && said.contains("Stopping at once"))
        let left = said.split(separator: "\n").filter { $0.contains("not ended") }
        #expect(left.count == 1 && left[0].hasPrefix("2 pushes of 1 message have not ended."), "\(left)")
        #expect(left.last?.contains("403 BadEnvironmentKeyIdInToken") == true, "\(left)")
    }

    @Test func `try has a channel service, and names its requests`() async throws {
        _ = try await Self.with([], endedBy: SIGTERM) { program, connection, loop in
            try await connection.script("SELECT carillon.request_channel('try', 0, 'match')")
            _ = try await program.line(containing: "APNs      create ", on: loop)
            try await connection.script(
                """
                SELECT carillon.channel('match', 'try', wait => '30 s');
                SELECT carillon.publish('try', 'match', '{"score": 1}')
                """
            )
            _ = try await program.line(containing: "APNs      broadcast ", on: loop)
        }
    }
}
