import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Databases that answer nothing, while the kernel still acknowledges packets: the proxy is frozen.
@Suite(.scene) struct SilenceCases {
    static let silence = "has answered nothing"
    /// How long a worker may take to leave a database that freezes.
    static let limit = Board.sized(Duration.seconds(60), full: Fleet.lease + .seconds(5))

    /// A proxy before the database, and a URL that names it first and the database itself second.
    private static func withTwoHosts(
        in scene: Scene,
        _ body: (_ first: Proxy, _ url: String) async throws -> Void
    ) async throws {
        try await scene.withProxy { proxy, url in
            let (port, second) = (await proxy.port, scene.cluster.port)
            let pieces = url.split(separator: "127.0.0.1:\(port)", omittingEmptySubsequences: false)
            try await body(proxy, pieces.joined(separator: "127.0.0.1:\(port),127.0.0.1:\(second)"))
        }
    }

    @Test
    func `D36: a frozen database whose kernel lives is abandoned within a lease and five seconds, and the log says so`()
        async throws
    {
        try await Self.withTwoHosts(in: scene) { first, url in
            let worker = try scene.fleet.start(["--max-in-flight", "500"], database: url)
            try await worker.started()
            try await scene.underLoad {
                try await scene.goesOn(500)
                await first.freeze()
                try await worker.says(Self.silence, within: Self.limit)
                try await scene.goesOn(within: Board.sized(.seconds(60), full: .seconds(15)))
            }
            try await scene.finish(duplicates: 500)
        }
    }

    @Test func `D37: a database that freezes alone is reached again once it has thawed`() async throws {
        try await scene.withProxy { proxy, url in
            let worker = try scene.fleet.start(["--max-in-flight", "500"], database: url)
            try await worker.started()
            try await scene.underLoad {
                try await scene.goesOn(500)
                await proxy.freeze()
                try await worker.says(Self.silence, within: Self.limit)
                try await scene.eventually("the worker was not ready") { await !worker.isReady() }
                await proxy.thaw()
                try await scene.goesOn(within: Board.sized(.seconds(60), full: .seconds(30)))
            }
            try await scene.finish(duplicates: 500)
        }
    }

    /// It freezes before it answers anything, while a connection is made, when this is complete, and while the worker registers.
    @Test(arguments: [0, 200, 1200, 2500, 4000])
    func `D38: a worker whose first host freezes while it starts sends within ten seconds, over the second`(bytes: Int)
        async throws
    {
        try await Self.withTwoHosts(in: scene) { first, url in
            try await scene.enqueue(100)
            if bytes == 0 { await first.freeze() } else { await first.freeze(afterBytes: bytes) }
            _ = try scene.fleet.start(database: url)
            try await scene.requests(1, within: Board.sized(.seconds(60), full: .seconds(10)))
            try await scene.finish(duplicates: 100)
        }
    }

    @Test func `D39: a heartbeat that waits for a lock for longer than a lease makes a worker leave no database`()
        async throws
    {
        let worker = try await scene.fleet.started()
        try await scene.client.session { session in
            try await session.transaction {
                try await session.script("LOCK TABLE carillon.workers IN ACCESS EXCLUSIVE MODE")
                try await scene.waitsForLock("carillon.workers")
                try await scene.transactionIsOpen(for: .seconds(10))
            }
        }
        try await scene.enqueue(100)
        try await scene.finish()
        #expect(worker.lines(containing: Self.silence).isEmpty)
    }

    /// Its statements may take longer than a lease, so it would find out later by itself.
    @Test func `D48: the connection for webhooks leaves a frozen database with the worker, and events continue`()
        async throws
    {
        let ids = Guarded(Set<String>())
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                let new = request.body.matches(of: /"id":"([^"]+)"/).map { String($0.output.1) }
                ids.withLock { $0.formUnion(new) }
                try await line.respond(200)
            }
        } test: { receiver, port in
            try await scene.client.run(
                """
                SELECT carillon.add_webhook('good', a.name, 'https://127.0.0.1:\(port)/', '{sent}', true, '\(receiver.rootPEM)')
                FROM carillon.apps a ORDER BY a.id LIMIT 1
                """
            )
            try await Self.withTwoHosts(in: scene) { first, url in
                let worker = try scene.fleet.start(["--max-in-flight", "500"], database: url)
                try await worker.started()
                try await scene.underLoad {
                    try await scene.goesOn(500)
                    try await scene.eventually("events arrive") { ids.withLock { !$0.isEmpty } }
                    await first.freeze()
                    try await worker.says(Self.silence, within: Self.limit)
                    let before = ids.withLock { $0.count }
                    let limit = Board.sized(Duration.seconds(60), full: .seconds(15))
                    try await worker.says("Webhooks are posted again", within: limit)
                    try await scene.eventually("further events arrive") { ids.withLock { $0.count > before } }
                }
                try await scene.finish(duplicates: 500)
            }
        }
    }
}
