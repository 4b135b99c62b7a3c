import ApplePush
import Glibc
import IO
import Postgres
import PushQueue
import Simulator

/// What a benchmark of the queue stands on: a private PostgreSQL, durable as in production, the schema, the simulator
/// and one app that sends to it.
struct Installation {
    let loop: EventLoop
    let connection: PostgresConnection
    let url: String
    let simulator: APNsSimulator
    let app: Int32

    /// As PostgreSQL comes, but for the size of its log: with the one it comes with, it would write a checkpoint every few
    /// seconds, says so itself, and each of them keeps commits waiting for half a second on a slow disk.
    private static let server = PrivateCluster.Settings(isDurable: true, parameters: ["max_wal_size": "8GB"])

    /// Sets it up, and takes it down whatever happens.
    static func with(
        simulator configure: (inout SimulatorConfiguration) -> Void = { _ in },
        _ body: (Installation) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "benchmark")
        defer {
            loop.stop()
            loop.join()
        }
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.bindsTokens = false  // what the gateway does beside answering is not measured
        configuration.providerKeys = [try team.providerKey()]
        configure(&configuration)
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let cluster = try await PrivateCluster.start(Self.server, on: loop)
        do {
            let connection = try await PostgresConnection.connect(
                cluster.url(),
                on: loop,
                application: "carillon-bench"
            )
            _ = try await Migrator(connection).up()
            let app = try await Self.addApp(team, simulator, connection)
            try await body(
                Installation(
                    loop: loop,
                    connection: connection,
                    url: cluster.url(),
                    simulator: simulator,
                    app: app
                )
            )
            await connection.close()
        } catch {
            await cluster.stop()
            await simulator.stop()
            throw error
        }
        await cluster.stop()
        await simulator.stop()
    }

    private static func addApp(
        _ team: Team,
        _ simulator: APNsSimulator,
        _ connection: PostgresConnection
    ) async throws -> Int32 {
        let text = CredentialText(privateKey: team.keyPEM, keyID: Team.keyID, teamID: Team.teamID)
        _ = try await CredentialStore(connection).save(text, as: "bench")
        let app = NewApp(
            name: "bench",
            topic: Team.topic,
            credential: "bench",
            gateway: "127.0.0.1:\(simulator.port)",
            gatewayCA: simulator.rootPEM
        )
        return try await AppStore(connection).add(app).id
    }

    /// Adds apps like the first: one team's, so that all of them share its connections.
    func addApps(_ count: Int, paused: Bool = false) async throws -> [Int32] {
        try await self.connection.query(
            Statement(
                "add_apps",
                """
                INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca, paused)
                SELECT a.name || ' ' || n, a.topic, a.certificate_id, a.gateway, a.gateway_ca, \(paused)
                FROM carillon.apps a, generate_series(1, \(count)) n WHERE a.id = \(self.app) RETURNING id
                """
            ),
            Parameters()
        ) { rows in try rows.indices.map { try rows.int32($0, 0) } }
    }

    static let payload =
        #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock, and all is well."},"badge":1,"sound":"default"}}"#

    /// The payload as a literal of SQL.
    static let payloadLiteral = "'" + Self.payload.split(separator: "'").joined(separator: "''") + "'"

    /// All rows in one transaction, as an application would; every token is distinct.
    func enqueueing(_ rows: Int, tokensPerRow: Int = 1, lane: Int = 1) -> String {
        """
        INSERT INTO carillon.messages (app_id, lane, tokens, payload)
        SELECT \(self.app), \(lane), (
            SELECT array_agg(lpad(to_hex(r), 32, '0') || lpad(to_hex(t), 32, '0'))
            FROM generate_series(1, \(tokensPerRow)) t),
            \(Self.payloadLiteral)
        FROM generate_series(1, \(rows)) r
        """
    }

    /// Rows wait in the queue, and the database has done what it had put off.
    func fill(_ rows: Int, tokensPerRow: Int = 1) async throws {
        try await self.connection.script(self.enqueueing(rows, tokensPerRow: tokensPerRow))
        try await self.rest()
    }

    /// What was put off would else be done while something is measured.
    func rest() async throws {
        try await self.connection.script("VACUUM ANALYZE carillon.messages")
        try await self.connection.script("CHECKPOINT")
    }

    /// One number that the database knows.
    func number(_ sql: String) async throws -> Int {
        let statement = Statement(String(sql.prefix(63)), "SELECT (\(sql))::bigint")
        return Int(try await self.connection.query(statement) { rows in try rows.int64(0, 0) })
    }

    /// A column of numbers that the database knows.
    func numbers(_ sql: String) async throws -> [Int] {
        let statement = Statement(String(sql.prefix(63)), "SELECT n::bigint FROM (\(sql)) AS a (n)")
        return try await self.connection.query(statement) { rows in try rows.indices.map { Int(try rows.int64($0, 0)) }
        }
    }

    /// A program that was built beside this one.
    static func program(_ name: String) -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let own = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/\(name)"
    }
}
