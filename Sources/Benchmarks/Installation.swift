import ApplePush
import Glibc
import IO
import Postgres
import PushQueue
import Simulator

/// What a benchmark of the queue stands on: a private PostgreSQL, durable as in production, the schema, the simulator
/// and one app that sends to it.
struct Installation {
    let connection: PostgresConnection
    let url: String
    let simulator: APNsSimulator
    let app: Int32

    /// Sets it up, and takes it down whatever happens.
    static func with(on loop: EventLoop, _ body: (Installation) async throws -> Void) async throws {
        let team = try Team()
        var configuration = SimulatorConfiguration()
        configuration.providerKeys = [try team.providerKey()]
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        let cluster = try await PrivateCluster.start(.durable, on: loop)
        do {
            let connection = try await PostgresConnection.connect(
                cluster.url(),
                on: loop,
                application: "carillon-bench"
            )
            _ = try await Migrator(connection).up()
            let app = try await Self.addApp(team, simulator, connection)
            try await body(
                Installation(connection: connection, url: cluster.url(), simulator: simulator, app: app)
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

    /// A program that was built beside this one.
    static func program(_ name: String) -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let own = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/\(name)"
    }
}
