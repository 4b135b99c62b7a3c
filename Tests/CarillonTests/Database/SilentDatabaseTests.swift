import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// Commands and services whose database answers nothing, although the kernel acknowledges what it is sent.
@Suite struct SilentDatabaseTests {
    private static func withShop(
        hasSecond: Bool = false,
        _ body: (Shop, _ proxy: Proxy, _ url: String, EventLoop) async throws -> Void
    ) async throws {
        try await Shop.with { shop in
            try await TestLoop.with { loop in
                try await shop.database.withProxy(hasSecond: hasSecond, on: loop) { proxy, url in
                    try await body(shop, proxy, url, loop)
                }
            }
        }
    }

    @Test func `a command ends with the reason and what to do`() async throws {
        try await Self.withShop { shop, proxy, url, loop in
            try await shop.database.session { other in
                try await other.run("BEGIN; LOCK TABLE carillon.apps IN ACCESS EXCLUSIVE MODE")
                let command = try BackgroundProgram(
                    ["app", "list"],
                    environment: ["DATABASE_URL": url],
                    in: shop.folder
                )
                try await loop.eventually("the command waits") {
                    try await shop.database.waitsForLock(as: "carillon app list")
                }
                await proxy.freeze()
                let line = try await command.line(containing: "answered nothing for 20.0 seconds", on: loop)
                #expect(line.contains("PostgreSQL at 127.0.0.1:\(await proxy.port)"), "\(line)")
                #expect(try await command.end(on: loop) == .status(69))
                #expect(command.said.contains("restart it, and try again"), "\(command.said)")
            }
        }
    }

    @Test func `a command with two hosts continues with the second while the first says nothing`() async throws {
        try await Self.withShop(hasSecond: true) { _, proxy, url, _ in
            await proxy.freeze()
            let run = try await ProgramRun.run(["app", "list"], environment: ["DATABASE_URL": url])
            #expect(run.status == 0 && run.output.contains("shop"), "\(run.errors)")
        }
    }

    @Test func `a call of pyapns gets its fault, the log says so once, and the next call goes to the other host`()
        async throws
    {
        try await Self.withShop(hasSecond: true) { shop, proxy, url, _ in
            try await PyapnsClient.with(url, in: shop.folder) { client, program, loop in
                func notify() async -> String {
                    await client.call("notify", "shop", Shop.token("aa"), PyapnsClient.hello("1"))
                }
                #expect(await notify().isNothing)
                await proxy.freeze()
                let start = MonotonicInstant.now
                let answer = await notify()
                #expect(answer.faultCode == 500 && answer.contains("It is unknown whether"), "\(answer)")
                #expect(MonotonicInstant.now - start < .seconds(35))
                #expect(await notify().isNothing)
                _ = try await program.line(containing: "The database is back", on: loop)
                let lines = program.said.split(separator: "\n").filter { $0.contains("The database cannot be reached") }
                #expect(lines.count == 1 && lines[0].contains("answered nothing for 17.0 seconds"), "\(program.said)")
            }
        }
    }

    @Test func `a page is read from the other host, where messages are enqueued from then on`() async throws {
        try await Self.withShop(hasSecond: true) { shop, proxy, url, _ in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            try await DashboardClient.with(url, in: shop.folder) { client, loop in
                func post() async -> DashboardClient.Answer {
                    let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
                    return await client.post("/messages", #"{"tokens": ["aa"], "alert": "hi"}"#, headers: headers)
                }
                #expect(await client.get("/apps").status == "200")
                #expect(await post().status == "201")
                await proxy.freeze()
                let start = MonotonicInstant.now
                #expect(await client.get("/apps").status == "200")
                #expect(MonotonicInstant.now - start < .seconds(20))
                // The connections for changes were closed with the others.
                #expect(await post().status == "201")
                _ = try await client.program.line(containing: "The database is back", on: loop)
                let lines = client.program.said.split(separator: "\n").filter { $0.contains("cannot be reached") }
                #expect(lines.count == 1, "\(client.program.said)")
            }
        }
    }

    @Test func `without another host, pages and messages are refused with 503 and a reference`() async throws {
        try await Self.withShop { shop, proxy, url, _ in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            try await DashboardClient.with(url, in: shop.folder) { client, loop in
                func post() async -> DashboardClient.Answer {
                    let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
                    return await client.post("/messages", #"{"tokens": ["aa"], "alert": "hi"}"#, headers: headers)
                }
                #expect(await post().status == "201")
                await proxy.freeze()
                let start = MonotonicInstant.now
                let unknown = await post()
                #expect(unknown.status == "503" && unknown.body.contains("under the reference"), "\(unknown.body)")
                #expect(MonotonicInstant.now - start < .seconds(40))
                #expect(await client.get("/apps").status == "503")
                let unsent = await post()
                #expect(unsent.status == "503" && unsent.body.contains("under the reference"), "\(unsent.body)")
                #expect(MonotonicInstant.now - start < .seconds(50))
                await proxy.thaw()
                #expect(await post().status == "201")
                _ = try await client.program.line(containing: "The database is back", on: loop)
            }
        }
    }

    @Test func `metrics come while the database hangs, without what only it knows`() async throws {
        try await Self.withShop { shop, proxy, url, loop in
            let worker = try BackgroundProgram(
                ["worker", "--http", "127.0.0.1:0"],
                environment: ["DATABASE_URL": TestLogin.worker.url(url)],
                in: shop.folder
            )
            let line = try await worker.line(containing: "Health and metrics", on: loop)
            let port = try #require(line.firstMatch(of: /"port":(\d+)/).flatMap { UInt16($0.output.1) })
            let client = DashboardClient(port: port, program: worker)
            func scrape() async -> String { await client.get("/metrics").body }
            // Without another host, a worker ends if the database hangs before it has started.
            _ = try await worker.line(containing: "has started", on: loop)
            let gauge = "carillon_ready_jobs{"
            #expect(await scrape().contains(gauge))
            await proxy.freeze()
            try await loop.eventually("the gauges are gone") {
                let start = MonotonicInstant.now
                let text = await scrape()
                #expect(text.contains("carillon_build_info{"))
                #expect(MonotonicInstant.now - start < .seconds(20))
                return !text.contains(gauge) && !text.contains("carillon_workers{")
            }
            await proxy.thaw()
            try await loop.eventually("the gauges are back") { await scrape().contains(gauge) }
            _ = try await worker.end(by: SIGTERM, on: loop)
        }
    }
}
