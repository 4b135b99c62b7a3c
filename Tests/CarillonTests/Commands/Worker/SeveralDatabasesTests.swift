import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonWeb
import TestSupport
import Testing

@testable import Carillon

/// One worker that serves several databases.
@Suite struct SeveralDatabasesTests {
    @Test(.shop) func `a worker serves several databases, and tells them apart`() async throws {
        let first = shop
        try await Shop.with { second in
            try await first.enqueue(300)
            try await second.enqueue(200)
            let urls = [first, second].map { TestLogin.worker.url($0.database.url) }
            let done = try await ProgramRun.run(
                ["worker", "--once", "--max-in-flight", "100", "--database", urls[0], "--database", urls[1]],
                environment: [:]
            )
            #expect(done.status == 0, "\(done.errors)")
            for shop in [first, second] {
                #expect(
                    done.errors.contains(#""database":"\#(DatabaseLabel.of(shop.database.url))""#),
                    "\(done.errors)"
                )
            }
            #expect(try await first.database.number("SELECT sum(sent) FROM carillon.results") == 300)
            #expect(try await second.database.number("SELECT sum(sent) FROM carillon.results") == 200)
        }
    }

    @Test(.shop) func `a database that is down stops no other, and is served when it is back`() async throws {
        try await TestDatabase.connected(.nothing) { connection, late in
            try await shop.enqueue(100)
            try await TestLoop.with { loop in
                // By the environment, where white space parts them.
                let worker = try BackgroundProgram(
                    ["worker", "--http", "127.0.0.1:0"],
                    environment: ["DATABASE_URL": TestLogin.worker.url("\(shop.database.url) \(late)")],
                    in: shop.folder
                )
                _ = try await worker.line(containing: "carillon migrate up", on: loop)
                _ = try await worker.line(containing: "The worker has started", on: loop)
                try await loop.eventually("the worker sends 100 pushes") {
                    try await shop.database.number("SELECT coalesce(sum(sent), 0)::bigint FROM carillon.results") >= 100
                }
                let port = try await worker.line(containing: "metrics are served", on: loop)
                    .split(separator: "\"port\":").last?.prefix(while: \.isNumber)
                let probe = HealthProbe(
                    address: try #require(Address("127.0.0.1:\(port ?? "")")),
                    timeout: .seconds(60)
                )
                let label = DatabaseLabel.of(late)
                let ready = try await probe.ask()
                #expect(ready.status == 503 && ready.body.contains("\(label): the database is not connected"))
                let metrics = try await probe.ask("/metrics").body
                #expect(metrics.contains(#"carillon_database_up{database="\#(label)"} 0"#), "\(metrics)")
                #expect(
                    metrics.contains(#"carillon_database_up{database="\#(DatabaseLabel.of(shop.database.url))"} 1"#)
                )
                #expect(metrics.split(separator: "# TYPE carillon_database_up gauge").count == 2)

                _ = try await Migrator(connection).up()
                try await loop.eventually("both databases are ready") { try await probe.ask().status == 200 }
                #expect(try await worker.end(by: 15, on: loop) == .status(0))
            }
        }
    }

    /// Both processes begin at the same time, and name the databases in another order.
    @Test(.shop) func `a signing key that apps of two databases have uses one provider token`() async throws {
        try await TestDatabase.with(.schema) { other in
            try await other.connection.addApp("shop", topic: Shop.topic, to: shop.gateway)
            // Both are copies of one database.
            try await other.run("UPDATE carillon.installation SET id = gen_random_uuid()")
            let text = CredentialText(
                privateKey: try APNsSimulator.makeSigningKey(),
                keyID: "ABC123DEFG",
                teamID: "DEF123GHIJ"
            )
            for database in [shop.database, other] {
                try await CredentialStore(database.connection).save(text, as: "shop")
                try await shop.on(database).enqueue(200)
            }
            try await TestLoop.with { loop in
                let urls = [shop.database.url, other.url]
                let workers = try [urls, urls.reversed()].map { urls in
                    try BackgroundProgram(
                        ["worker", "--max-in-flight", "10", "--request-timeout", "60s"],
                        environment: ["DATABASE_URL": TestLogin.worker.url(urls.joined(separator: " "))],
                        in: shop.folder
                    )
                }
                for database in [shop.database, other] {
                    try await loop.eventually("all pushes are sent") {
                        try await database.number("SELECT coalesce(sum(sent), 0)::bigint FROM carillon.results") == 200
                    }
                }
                for worker in workers { #expect(try await worker.end(by: 15, on: loop) == .status(0)) }
            }
            let used = Set(await shop.gateway.receivedRequests().map(\.authorization))
            var kept: Set<String?> = []
            for database in [shop.database, other] {
                kept.insert(try await database.value("SELECT 'bearer ' || p.jwt FROM carillon.provider_tokens p"))
            }
            #expect(used.count == 1 && used == kept)
        }
    }

    @Test(.shop) func `status shows the apps and workers of all databases, and why one cannot be read`() async throws {
        try await TestDatabase.with(.schema) { other in
            try await other.run(
                """
                INSERT INTO carillon.apps (name, paused, paused_reason) VALUES ('news', true, 'closed');
                INSERT INTO carillon.workers (name, lease_until) VALUES ('nightly', now() + interval '1 hour')
                """
            )
            let urls = [shop.database.url, other.url, "host=/nonexistent dbname=d password=s3cret"]
            let labels = DatabaseLabel.of(urls)
            let words = ["status"] + urls.flatMap { ["--database", $0] }
            let text = try await ProgramRun.run(words, environment: [:])
            #expect(text.status == 69, "\(text.errors)")
            let lines = text.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            for (label, name) in [(labels[0], "shop"), (labels[1], "news"), (labels[1], "nightly")] {
                #expect(lines.contains { $0.starts(with: [label, name]) }, "\(name): \(text.output)")
            }
            #expect(text.output.contains("\(labels[1]): news is paused: Closed."), "\(text.output)")
            #expect(text.output.contains("\(labels[2]) cannot be read: "), "\(text.output)")
            let json = try await ProgramRun.run(words + ["--json"], environment: [:])
            #expect(json.status == 69)
            #expect(json.output.matches(of: /"database":"[^"]+"/).count == 4, "\(json.output)")
            #expect(json.output.contains(#""failures":[{"database":"\#(labels[2])","error":"#), "\(json.output)")
            for run in [text, json] { #expect(!(run.output + run.errors).contains("s3cret")) }

            let one = try await ProgramRun.run(["status", "--json", "--database", other.url], environment: [:])
            #expect(one.status == 0 && !one.output.contains("database") && !one.output.contains("failures"))
        }
    }

    @Test(.shop) func `with --once a database that is down is the worker's end`() async throws {
        try await shop.enqueue(10)
        let done = try await ProgramRun.run(
            [
                "worker", "--once", "--database", TestLogin.worker.url(shop.database.url), "--database",
                "host=/nonexistent dbname=d password=s3cret",
            ],
            environment: [:]
        )
        #expect(done.status == 69)
        #expect(try await shop.database.number("SELECT sum(sent) FROM carillon.results") == 10)
        #expect(!done.errors.contains("s3cret"))
    }

    @Test func `labels name host and database, and nothing that is secret`() {
        #expect(DatabaseLabel.of("postgresql://app:s3cret@db1/shop") == "db1/shop")
        #expect(DatabaseLabel.of("host=db1,db2 port=6432 dbname=shop password=x") == "db1,db2:6432/shop")
        let labels = DatabaseLabel.of(["postgresql://a/s", "postgresql://b/s", "postgresql://a/s?user=x"])
        #expect(labels == ["a/s#1", "b/s", "a/s#3"])
        #expect(
            DatabaseLabel.of(["host=a dbname=s", "host=a dbname=s", "host=a dbname=s#1"]) == [
                "a/s#1", "a/s#2", "a/s#1#3",
            ]
        )
        #expect(!DatabaseLabel.of("postgresql://app:s3c@ret@db/shop").contains("s3c"))
    }
}
