import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct SeveralHostsTests {
    /// - Parameter wait: for each host; long enough for one that answers on a busy machine.
    private static func processes(_ hosts: String, wait: Duration = .seconds(20)) async throws -> Int {
        let connection = try await PostgresConnection.connect(hosts, to: .writable, timeout: wait)
        let number = try await connection.number("SELECT 1")
        await connection.close()
        return Int(number)
    }

    /// The tests' cluster as the second of two hosts.
    private static func url(after first: UInt16) async throws -> String {
        try await TestCluster.shared.loopbackURL().replacing("@127.0.0.1:", with: "@127.0.0.1:\(first),127.0.0.1:")
    }

    @Test func `the second is taken when the first refuses`() async throws {
        #expect(try await Self.processes(Self.url(after: ReservedPort.choose())) == 1)
    }

    @Test func `the second is taken when the first is silent`() async throws {
        let listener = try Listener(host: "127.0.0.1", port: 0, on: TestLoop.shared) { socket in _ = socket.release() }
        defer { listener.close() }
        #expect(try await Self.processes(Self.url(after: listener.port)) == 1)
    }

    @Test func `a silent one is tried last from then on`() async throws {
        let silent = try Listener(host: "127.0.0.1", port: 0, on: TestLoop.shared) { socket in _ = socket.release() }
        defer { silent.close() }
        let source = DatabaseSource(try await Self.url(after: silent.port))
        for limit: Duration in [.seconds(20), .seconds(600)] {
            let connection = try await PostgresConnection.connect(
                source,
                on: TestLoop.shared,
                application: "test",
                timeout: limit
            )
            #expect(source.silentHost.server?.port == "\(silent.port)")
            #expect(connection.server.port != "\(silent.port)")
            await connection.close()
        }
    }

    @Test func `a slow one is waited for longer once the others have refused`() async throws {
        let cluster = try await TestCluster.shared
        try await Proxy.with(to: cluster.port, on: TestLoop.shared) { proxy in
            // Longer than the first host may take while there is a second one.
            await proxy.delay(by: .milliseconds(1200))
            let hosts = "127.0.0.1:\(await proxy.port),127.0.0.1:\(ReservedPort.choose())"
            let url = cluster.loopbackURL().replacing("127.0.0.1:\(cluster.port)", with: hosts)
            let number = try await Self.processes(url, wait: .seconds(30))
            #expect(number == 1)
        }
    }

    @Test func `a host that freezes before it greets is left for the second`() async throws {
        let cluster = try await TestCluster.shared
        try await Proxy.with(to: cluster.port, on: TestLoop.shared) { proxy in
            let hosts = "127.0.0.1:\(await proxy.port),127.0.0.1:\(cluster.port)"
            let url = cluster.loopbackURL().replacing("127.0.0.1:\(cluster.port)", with: hosts)
            for bytes in [10, 100, 300] {
                await proxy.thaw()
                await proxy.freeze(afterBytes: bytes)
                let number = try await Self.processes(url, wait: .seconds(60))
                #expect(number == 1)
            }
        }
    }

    @Test func `a host that accepts writes is used, and left when it stops accepting them`() async throws {
        var settings = PrivateCluster.Settings.fast
        settings.parameters = ["default_transaction_read_only": "on"]
        let standby = try await PrivateCluster.start(settings, on: TestLoop.shared)
        let primary = try await TestCluster.shared
        let hosts = "host=\(standby.folder),\(primary.folder) port=\(standby.port),\(primary.port) user=postgres"
        #expect(try await Self.processes(hosts + " dbname=postgres") == 1)

        let error = await #expect(throws: PostgresError.self) { try await Self.processes(standby.url()) }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains("it is a standby, or was set read-only") == true)

        let reader = try await PostgresConnection.connect(standby.url())
        #expect(try await reader.number("SELECT 1") == 1)
        await reader.close()
        await standby.stop()
    }

    @Test func `a session whose server stops accepting writes ends by itself`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let connection = try await PostgresConnection.connect(url, to: .writable)
            try await connection.script("CREATE TABLE t (id int)")
            try await connection.script("SET default_transaction_read_only = on")
            let insert = Statement("insert", "INSERT INTO t VALUES (1)")
            let first = await #expect(throws: PostgresError.self) { try await connection.execute(insert) }
            #expect(first?.sqlState == "25006")
            #expect(first?.effect == .nothingDone)
            let second = await #expect(throws: PostgresError.self) { try await connection.execute(insert) }
            #expect(second?.code == .closed)
        }
    }

    @Test(.enabled(if: Proxy.losesPackets, "only the administrator may drop packets on this system"))
    func `a server that vanishes is noticed`() async throws {
        let cluster = try await TestCluster.shared
        try await Proxy.with(to: cluster.port, on: TestLoop.shared) { proxy in
            let port = await proxy.port
            let url = cluster.loopbackURL().replacing(":\(cluster.port)/", with: ":\(port)/")
            let connection = try await PostgresConnection.connect(url + "?tcp_user_timeout=500")
            try await proxy.openBlackHole()
            let start = MonotonicInstant.now
            let error = await #expect(throws: PostgresError.self) { _ = try await connection.number("SELECT 1") }
            #expect(error?.code == .closed)
            #expect(error?.effect == .unknown)
            #expect(MonotonicInstant.now - start < .seconds(10))
        }
    }
}

extension String {
    fileprivate func replacing(_ text: String, with other: String) -> String {
        split(separator: text, omittingEmptySubsequences: false).joined(separator: other)
    }
}
