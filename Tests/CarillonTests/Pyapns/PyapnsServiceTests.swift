import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// The service as a program: starts, ends, losses of the database, and who may call it.
@Suite(.shop) struct PyapnsServiceTests {
    private typealias Client = PyapnsClient

    @Test func `a client that provisioned once needs no more of it, whatever is restarted`() async throws {
        try await TestLoop.with { loop in
            let cluster = try await PrivateCluster.start(.fast, on: loop)
            try await attempt {
                try await TestDatabase.migrate(cluster.url())
                let issued = try shop.gateway.issueCertificate(topics: ["com.example.news"])
                try await Client.with(cluster.url(), in: shop.folder, ["--add-apps"]) { client, _, _ in
                    let answer = await client.call(
                        "provision",
                        "news",
                        issued.certificate + issued.privateKey,
                        "sandbox"
                    )
                    #expect(answer.isNothing, "\(answer)")
                }
                try await Client.with(cluster.url(), in: shop.folder) { client, _, _ in
                    #expect(await client.call("notify", "news", Shop.token("aa"), Client.hello("1")).isNothing)
                    try await cluster.restart()
                    let answer = await client.call("notify", "news", Shop.token("aa"), Client.hello("2"))
                    #expect(answer.isNothing, "\(answer)")
                    #expect(await client.call("feedback", "news").contains("<data></data>"))
                }
            } finally: {
                await cluster.stop()
            }
        }
    }

    @Test func `calls fail clearly while the database is away, and work when it is back`() async throws {
        try await shop.withLogin(password: "secret") { address, name in
            try await shop.database.run("GRANT carillon_app TO \(name)")
            let url = "postgresql://\(name):secret@\(address)"
            try await Client.with(url, in: shop.folder, ["--add-apps"]) { client, program, loop in
                #expect(await client.call("notify", "shop", Shop.token("aa"), Client.hello("1")).isNothing)
                try await shop.database.run("ALTER ROLE \(name) NOLOGIN")
                try await shop.database.run(
                    "SELECT pg_terminate_backend(a.pid, 60000) FROM pg_stat_activity a WHERE a.usename = '\(name)'"
                )
                for _ in 0..<3 {
                    let answer = await client.call("notify", "shop", Shop.token("aa"), Client.hello("2"))
                    #expect(answer.contains("The call had no effect."), "\(answer)")
                    #expect(
                        answer.faultCode == 500 && answer.contains("The database cannot do this now. The log"),
                        "\(answer)"
                    )
                    #expect(!answer.contains("secret"))
                }
                _ = try await program.line(containing: "The database cannot be reached", on: loop)
                try await shop.database.run("ALTER ROLE \(name) LOGIN")
                #expect(await client.call("notify", "shop", Shop.token("aa"), Client.hello("3")).isNothing)
                _ = try await program.line(containing: "The database is back", on: loop)
                #expect(program.said.matches(of: /The database cannot be reached/).count == 1)
                #expect(program.said.matches(of: /Calls fail/).count < 3, "\(program.said)")
                // This login may not write credentials, and is told so.
                let issued = try shop.gateway.issueCertificate(topics: ["com.example.news"])
                let answer = await client.call("provision", "news", issued.certificate + issued.privateKey, "sandbox")
                #expect(answer.faultCode == 500 && answer.contains("requires the owner of the schema"), "\(answer)")
            }
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 2)
        }
    }

    @Test func `no caller learns host, port, role or database when the login may not connect`() async throws {
        try await shop.withLogin(password: "secret") { address, name in
            let parts = address.split { $0 == ":" || $0 == "/" }.map(String.init)
            try #require(parts.count == 3)
            try await shop.database.run("GRANT carillon_app TO \(name)")
            try await Client.with("postgresql://\(name):secret@\(address)", in: shop.folder) { client, program, loop in
                #expect(await client.call("notify", "shop", Shop.token("aa"), Client.hello("1")).isNothing)
                try await shop.database.run("REVOKE CONNECT ON DATABASE \(parts[2]) FROM PUBLIC")
                try await shop.database.run(
                    "SELECT pg_terminate_backend(a.pid, 60000) FROM pg_stat_activity a WHERE a.usename = '\(name)'"
                )
                for _ in 0..<3 {
                    let answer = await client.call("notify", "shop", Shop.token("aa"), Client.hello("2"))
                    #expect(
                        answer.faultCode == 500 && answer.contains("The database cannot do this now. The log"),
                        "\(answer)"
                    )
                    for secret in parts + [name] { #expect(!answer.contains(secret), "\(answer)") }
                }
                let line = try await program.line(containing: "permission denied", on: loop)
                #expect(line.contains(parts[0]), "\(line)")
            }
        }
    }

    @Test func `a notification that devices ignore is accepted, and logged`() async throws {
        try await Client.with(shop.database.url, in: shop.folder) { client, program, loop in
            let ignored = Client.structure(["aps": Client.structure(["category": "x"])])
            let answer = await client.call("notify", "shop", Shop.token("aa"), ignored)
            #expect(answer.isNothing, "\(answer)")
            let line = try await program.line(containing: "that devices ignore", on: loop)
            #expect(
                line.contains(#""level":"warning""#) && line.contains(#""app":"shop""#)
                    && line.contains("no alert, badge, sound"),
                "\(line)"
            )
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1)
        }
    }

    @Test func `a large call does not delay a small one`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id)
            SELECT 'slow', topic, certificate_id FROM carillon.apps;
            CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NEW; END $$;
            CREATE TRIGGER wait BEFORE INSERT ON carillon.messages FOR EACH ROW WHEN (NEW.app_id = 2)
                EXECUTE FUNCTION public.wait();
            """
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _, loop in
            try await shop.database.session { other in
                try await other.run("BEGIN; SELECT pg_advisory_xact_lock(77)")
                let tokens = (0..<300).map { Shop.token("a" + String(1000 + $0)) }
                let payloads = Client.array(tokens.map { _ in Client.hello("1") })
                async let large = client.call("notify", "slow", Client.array(tokens), payloads)
                // Of this database: other tests wait for locks in theirs.
                let waiting = """
                    SELECT count(*) FROM pg_locks l WHERE NOT l.granted AND l.locktype = 'advisory'
                    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                    """
                try await loop.eventually("the large call waits for the lock") {
                    try await shop.database.number(waiting) == 1
                }
                #expect(await client.call("notify", "shop", Shop.token("aa"), Client.hello("2")).isNothing)
                #expect(try await shop.database.number(waiting) == 1, "the small call has waited for the large one")
                try await other.run("COMMIT")
                #expect(await large.isNothing)
            }
        }
    }

    @Test func `the largest calls keep no small one waiting, and all are answered`() async throws {
        try await Client.with(shop.database.url, in: shop.folder) { client, _, _ in
            let attributes = (0..<760_000).map { "a\($0)=\"\"" }.joined(separator: " ")
            let values = "<array><data>\(String(repeating: "<value/>", count: 1_040_000))</data></array>"
            let bodies = ["<methodCall \(attributes)/>", Client.text(of: "notify", ["shop", values])]
            try #require(bodies.allSatisfy { (8_000_000...(8 << 20)).contains($0.utf8.count) })
            let answers = await withTaskGroup(of: String.self) { group in
                for place in 0..<6 { group.addTask { await client.post(bodies[place % 2]) } }
                for _ in 0..<10 {
                    let answer = await client.call("notify", "shop", Shop.token("aa"), Client.hello("1"))
                    #expect(answer.isNothing, "\(answer)")
                }
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            // One that arrives while two are being received or carried out may have no room.
            #expect(answers.allSatisfy { [8002, 500].contains($0.faultCode) }, "\(answers.map { $0.prefix(500) })")
            let reasons = ["a tag or a comment of more than", "300,000 values"]
            #expect(reasons.contains { reason in answers.contains { $0.contains(reason) } })
            let echo = await client.post(Client.text(of: String(repeating: "x", count: 8_000_000), []))
            #expect(echo.faultCode == 8001 && echo.utf8.count < 1000, "\(echo.prefix(500))")
        }
    }

    @Test func `calls under way are answered before the service ends`() async throws {
        try await Client.with(shop.database.url, in: shop.folder, ending: nil) { client, program, loop in
            try await shop.database.session { other in
                try await other.run("BEGIN; LOCK TABLE carillon.messages")
                async let answer = client.call("notify", "shop", Shop.token("aa"), Client.hello("1"))
                try await loop.eventually("the call waits for the lock") {
                    try await shop.database.number(
                        """
                        SELECT count(*) FROM pg_locks l WHERE NOT l.granted AND l.relation = 'carillon.messages'::regclass
                            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                        """
                    ) == 1
                }
                program.signal(SIGTERM)
                try await loop.eventually("no further connection") { await client.post("x") == "no connection" }
                try await other.run("COMMIT")
                #expect(await answer.isNothing)
            }
        }
    }

    @Test func `a path for certificates that is not a folder is refused at the start`() async throws {
        for path in [shop.folder.file("missing"), try shop.folder.write("file", "")] {
            let ended = try await shop.run("pyapns", "--port", "0", "--certificate-folder", path)
            let sentence = "--certificate-folder takes the path of a folder that exists, not '\(path)'."
            #expect(ended.status == 2 && ended.errors.contains(sentence), "\(ended.errors)")
        }
    }

    @Test func `beyond this machine it takes a token, and nobody is served without it`() async throws {
        for host in ["0.0.0.0", "::", "192.0.2.1", "localhost.example"] {
            let ended = try await shop.run("pyapns", "--port", "0", "--host", host)
            #expect(ended.status == 2 && ended.errors.contains("--access-token-file"), "\(ended.errors)")
        }
        let short = try await ProgramRun.run(
            ["pyapns", "--port", "0"],
            environment: ["DATABASE_URL": shop.database.url, "CARILLON_ACCESS_TOKEN": "short"]
        )
        #expect(
            short.status == 2 && short.errors.contains("at least 16 characters")
                && !short.errors.contains("'short'")
        )

        let token = try shop.folder.write("token", "0123456789abcdef\n")
        let words = ["--host", "0.0.0.0", "--access-token-file", token]
        try await Client.with(shop.database.url, in: shop.folder, words) { client, program, loop in
            let call =
                "<methodCall><methodName>feedback</methodName><params><param><value>shop</value></param></params></methodCall>"
            for (header, start) in [
                ("", "HTTP/1.1 401 "), ("Authorization: Bearer 0123456789abcdeg\r\n", "HTTP/1.1 401 "),
                ("Authorization: Bearer 0123456789abcdef\r\n", "HTTP/1.1 200 "),
                ("Authorization: Basic dTowMTIzNDU2Nzg5YWJjZGVm\r\n", "HTTP/1.1 200 "),
            ] {
                var client = client
                client.headers += header
                let response = await client.exchange(call)
                #expect(response.hasPrefix(start), "\(response)")
                #expect(response.contains("WWW-Authenticate: Basic") == start.contains("401"))
            }
            #expect(!program.said.contains("0123456789abcdef"))
            _ = try await program.line(containing: "another access token", on: loop)
            #expect(program.said.matches(of: /no access token/).count == 1)
        }
    }

    @Test func `requests that no client makes are refused`() async throws {
        try await Client.with(shop.database.url, in: shop.folder) { client, _, _ in
            for (headers, start) in [
                ("Content-Type: text/plain\r\n", "HTTP/1.1 415 "), ("", "HTTP/1.1 415 "),
                ("Content-Type: text/xml\r\nOrigin: http://evil.example\r\n", "HTTP/1.1 403 "),
                ("Content-Type: text/xml\r\nContent-Encoding: gzip\r\n", "HTTP/1.1 415 "),
                ("Content-Type: text/xml; charset=utf-8\r\n", "HTTP/1.1 200 "),
            ] {
                var client = client
                client.headers = headers
                let response = await client.exchange("<methodCall/>")
                #expect(response.hasPrefix(start), "\(response)")
            }
            #expect(await RawHTTP.ask(client.port, "GET /").hasPrefix("HTTP/1.1 405 "))
            // The name of another site, which its owner has pointed at this machine.
            let foreign = "POST / HTTP/1.1\r\nHost: evil.example:\(client.port)\r\nContent-Type: text/xml\r\n"
            let rebound = await RawHTTP.exchange(
                client.port,
                foreign + "Content-Length: 13\r\n\r\n<methodCall/>"
            )
            #expect(rebound.hasPrefix("HTTP/1.1 403 ") && rebound.contains("requests to localhost"), "\(rebound)")
            let huge = await RawHTTP.ask(
                client.port,
                "POST /",
                headers: client.headers + "Content-Length: 100000000\r\n"
            )
            #expect(huge.faultCode == 8002 && huge.contains("at most 8,388,608 bytes"), "\(huge)")
            let large = await client.post(String(repeating: " ", count: 9 << 20))
            #expect(large.faultCode == 8002 && large.contains("at most 8,388,608 bytes"), "\(large.prefix(300))")
            let bomb =
                "<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><methodCall><methodName>&b;"
                + "</methodName></methodCall>"
            #expect(await client.post(bomb).faultCode == 8002)
            let deep = String(repeating: "<value><array><data>", count: 100_000)
            let answer = await client.post("<methodCall><methodName>notify</methodName><params><param>" + deep)
            #expect(answer.faultCode == 8002 && answer.contains("levels of nested elements"), "\(answer)")
        }
    }
}
