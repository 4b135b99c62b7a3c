import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

/// A private PostgreSQL, durable as in production, with the schema, a simulator, and one app that sends to the simulator.
struct Installation {
    let loop: EventLoop
    let connection: PostgresConnection
    let url: String
    let simulated: SimulatedGateway
    let app: Int32

    /// PostgreSQL's defaults, except for `max_wal_size`: with the default, it checkpoints every few seconds, and each checkpoint
    /// may delay commits by half a second on a slow disk.
    private static let parameters = ["max_wal_size": "8GB"]

    /// - Parameter server: More parameters of the server, as in postgresql.conf.
    static func with(
        server parameters: [String: String] = [:],
        simulator change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (Installation) async throws -> Void
    ) async throws {
        let parameters = Self.parameters.merging(parameters) { $1 }
        try await EventLoop.with(name: "benchmark") { loop in
            try await SimulatedGateway.with(simulator: change) { simulated in
                let cluster = try await PrivateCluster.start(
                    PrivateCluster.Settings(isDurable: true, parameters: parameters),
                    on: loop
                )
                try await Cleanup.after({ await cluster.stop() }) {
                    let connection = try await PostgresConnection.connect(
                        DatabaseSource(cluster.url()),
                        on: loop,
                        application: "carillon-bench"
                    )
                    _ = try await Migrator(connection).up()
                    let app = try await addApp(for: simulated, connection)
                    try await body(
                        Installation(
                            loop: loop,
                            connection: connection,
                            url: cluster.url(),
                            simulated: simulated,
                            app: app
                        )
                    )
                    await connection.close()
                }
            }
        }
    }

    private static func addApp(for simulated: SimulatedGateway, _ connection: PostgresConnection) async throws -> Int32
    {
        let text = CredentialText(
            privateKey: simulated.team.keyPEM,
            keyID: SigningTeam.keyID,
            teamID: SigningTeam.teamID
        )
        _ = try await CredentialStore(connection).save(text, as: "bench")
        return try await AppStore(connection).add("bench") { app in
            app.topic = SigningTeam.topic
            app.credential = "bench"
            app.gateway = "127.0.0.1:\(simulated.simulator.port)"
            app.gatewayCA = simulated.simulator.rootPEM
        }.id
    }

    /// Adds apps like the first. They share its connections unless they have another gateway.
    func addApps(_ count: Int, paused: Bool = false, gateway: SimulatedGateway? = nil) async throws -> [Int32] {
        let simulator = (gateway ?? simulated).simulator
        return try await numbers(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca, paused)
            SELECT a.name || ' ' || n, a.topic, a.certificate_id, '127.0.0.1:\(simulator.port)', '\(simulator.rootPEM)', \(paused)
            FROM carillon.apps a, generate_series(1, \(count)) n WHERE a.id = \(app) RETURNING id
            """
        ).map(Int32.init)
    }

    /// Extra rows for the time between measurements, which does not depend on the size.
    static let spareRows = 200_000

    static let payload =
        #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock, and all is well."},"badge":1,"sound":"default"}}"#

    static let payloadLiteral = "'" + payload.replacing("'", with: "''") + "'"

    /// An `INSERT` of all rows; every token is distinct.
    ///
    /// - Parameter isPersonal: Whether each token has its own payload.
    func enqueueing(_ rows: Int, tokensPerRow: Int = 1, lane: Int = 1, isPersonal: Bool = false) -> String {
        let payloads = """
            (SELECT array_agg(replace(\(Self.payloadLiteral), '"badge":1', '"badge":' || t)::json)
            FROM generate_series(1, \(tokensPerRow)) t)
            """
        return """
            INSERT INTO carillon.messages (app_id, lane, tokens, \(isPersonal ? "payloads" : "payload"))
            SELECT \(app), \(lane), (
                SELECT array_agg(lpad(to_hex(r), 32, '0') || lpad(to_hex(t), 32, '0'))
                FROM generate_series(1, \(tokensPerRow)) t),
                \(isPersonal ? payloads : Self.payloadLiteral)
            FROM generate_series(1, \(rows)) r
            """
    }

    /// Enqueues rows, and makes the database do its deferred work.
    func fill(_ rows: Int, tokensPerRow: Int = 1, isPersonal: Bool = false) async throws {
        try await connection.script(enqueueing(rows, tokensPerRow: tokensPerRow, isPersonal: isPersonal))
        try await settleDown()
    }

    /// Makes the database do its deferred work now rather than during a measurement.
    func settleDown() async throws {
        try await connection.script("VACUUM ANALYZE carillon.messages")
        try await connection.script("CHECKPOINT")
    }

    /// The value of an expression.
    func number(_ sql: String) async throws -> Int { try await numbers("SELECT (\(sql))::bigint AS n")[0] }

    /// The column that a statement returns.
    func numbers(_ sql: String) async throws -> [Int] {
        try await connection.values(
            of: Statement(String(sql.suffix(63)), "WITH a (n) AS (\(sql)) SELECT n::bigint FROM a")
        )
    }

    /// The app's average rows a second, measured before and after the body.
    func rateAlone(of pushes: Int, around body: () async throws -> Void) async throws -> Double {
        let before = try await rate(of: pushes)
        try await body()
        return (before + (try await rate(of: pushes))) / 2
    }
}
