import TestSupport
import Testing

@testable import CarillonDashboard

/// What the dashboard leaves in the log, of which a client can cause no flood.
@Suite struct WebLogTests {
    /// The lines of a dashboard that has ended, after the body has used it.
    private func lines(
        of url: String = "postgresql://127.0.0.1:1/none",
        _ words: [String] = [],
        in folder: TemporaryFolder,
        _ body: (DashboardClient) async throws -> Void
    ) async throws -> [String] {
        var program: BackgroundProgram?
        try await DashboardClient.with(url, in: folder, words) { client, _ in
            program = client.program
            try await body(client)
        }
        return (program?.said ?? "").split(separator: "\n").map(String.init)
    }

    private func expect(_ parts: String..., onceIn lines: [String]) {
        let found = lines.filter { line in (["\"level\":\"warning\""] + parts).allSatisfy(line.contains) }
        #expect(found.count == 1, "\(parts) in \(lines)")
    }

    @Test func `a failed login is logged with its address, and a flood of them as one line`() async throws {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("password", "correct horse\n")
            let lines = try await lines(["--password-file", file], in: folder) { client in
                for _ in 0..<AttemptLimit().atOnce { _ = await client.post("/login", "name=hunter2&password=hunter3") }
                var refused = 0
                for _ in 0..<20 where await client.post("/login", "password=hunter3").status == "429" { refused += 1 }
                #expect(refused > 10)
            }
            expect("A login failed", "\"address\":\"127.0.0.1\"", onceIn: lines)
            expect("Logins are refused", "\"address\":\"127.0.0.1\"", onceIn: lines)
            #expect(!lines.contains { $0.contains("hunter") })
        }
    }

    @Test func `an unreachable database and a body that is too large are logged`() async throws {
        try await TemporaryFolder.with { folder in
            var reference: String?
            let lines = try await lines(in: folder) { client in
                for path in ["/apps", "/failures", "/apps"] { #expect(await client.get(path).status == "503") }
                let json = "Content-Type: application/json\r\nAuthorization: Bearer carillon_secret\r\n"
                for _ in 0..<3 {
                    let answer = await client.post("/messages", "{}", headers: json)
                    #expect(answer.status == "503")
                    // Whoever sends it need not know a password.
                    for secret in ["127.0.0.1", "none", "connect"] {
                        #expect(!answer.body.contains(secret), "\(answer.body)")
                    }
                    reference = answer.body.split(separator: "under the reference ").last.map {
                        String($0.prefix { $0 != "." })
                    }
                }
                let long = String(repeating: "x", count: 300_000)
                for _ in 0..<3 { #expect(await client.post("/messages", long, headers: json).status == "413") }
            }
            expect("Pages cannot be shown", "\"path\":\"/apps\"", "\"error\":", onceIn: lines)
            let shown = "\"reference\":\"\(try #require(reference))\""
            expect("Calls of the API fail", "\"path\":\"/messages\"", "127.0.0.1", shown, onceIn: lines)
            expect("Requests are refused", "too large", onceIn: lines)
            #expect(!lines.contains { $0.contains("carillon_secret") })
        }
    }

    /// The last of these has the SQLSTATE of an unknown token, and the one before that of a database from which nothing is sent.
    @Test(.shop) func `no program learns host, port, role or database from whatever is wrong with them`() async throws {
        try await shop.withLogin(password: "sesame") { address, role in
            let parts = address.split { $0 == ":" || $0 == "/" }.map(String.init)
            try #require(parts.count == 3)
            let (server, name) = ("\(parts[0]):\(parts[1])", parts[2])
            let free = "\(ReservedPort.choose())"
            for (login, place, change) in [
                ("\(role):sesame", "\(parts[0]):\(free)/\(name)", ""),
                ("\(role):wrong", address, ""),
                ("\(role):sesame", "\(server)/missing_\(name)", ""),
                ("\(role):sesame", address, "REVOKE CONNECT ON DATABASE \(name) FROM PUBLIC"),
                ("\(role):sesame", address, "UPDATE pg_database SET datallowconn = false WHERE datname = '\(name)'"),
                ("\(role):sesame", address, "ALTER ROLE \(role) NOLOGIN"),
            ] {
                if !change.isEmpty { try await shop.database.run(change) }
                let lines = try await lines(of: "postgresql://\(login)@\(place)", in: shop.folder) { client in
                    let json = "Content-Type: application/json\r\nAuthorization: Bearer carillon_secret\r\n"
                    let answer = await client.post("/messages", #"{"tokens": ["aa"], "alert": "hi"}"#, headers: json)
                    #expect(answer.status == "503", "\(place), \(change): \(answer.head)")
                    #expect(answer.body.contains("same Idempotency-Key"), "\(place), \(change): \(answer.body)")
                    for secret in [parts[0], parts[1], free, name, role, "sesame", "wrong"] {
                        #expect(!(answer.head + answer.body).contains(secret), "\(place), \(change): \(answer)")
                    }
                }
                expect("Calls of the API fail", "\"path\":\"/messages\"", parts[0], onceIn: lines)
            }
        }
    }

    @Test(.shop) func `an unknown token of a program is logged, and the token is not`() async throws {
        let lines = try await lines(of: shop.database.url, in: shop.folder) { client in
            let json = "Content-Type: application/json\r\nAuthorization: Bearer carillon_secret\r\n"
            for _ in 0..<3 { #expect(await client.post("/messages", "{}", headers: json).status == "401") }
        }
        expect("Calls of the API are refused", "an unknown token", "\"address\":\"127.0.0.1\"", onceIn: lines)
        #expect(!lines.contains { $0.contains("carillon_secret") })
    }
}
