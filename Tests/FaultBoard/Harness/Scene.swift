import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Synchronization
import TestSupport
import Testing

/// The set-up of a case: a database with the schema and an app, the simulator that the app sends to, and a fleet of real
/// workers. All of it is made for the case, and removed afterwards.
struct Scene: Sendable {
    /// The PostgreSQL of a case.
    enum Ground: Sendable {
        /// A new database in the cluster of all tests: for cases that do not affect the server.
        case shared
        /// The same, with a clock that the case can set.
        case settableClock
        /// A new cluster.
        case own(PrivateCluster.Settings)
    }

    @TaskLocal fileprivate static var current: Scene?

    static let topic = "com.example.board"
    static let app = "board"

    let simulator: APNsSimulator
    let client: SceneClient
    let cluster: PrivateCluster
    let loop: EventLoop
    let folder: TemporaryFolder
    let fleet: Fleet
    let ledger = Ledger()
    let record: Arrivals
    let invariants: InvariantWatch
    let numbers = Counter()

    /// Sets everything up, runs the body, and removes everything.
    /// - Parameters:
    ///   - configure: changes the simulator's configuration.
    static func with(
        on ground: Ground = .shared,
        _ configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (Scene) async throws -> Void
    ) async throws {
        let record = Arrivals()
        try await APNsSimulator.with {
            // As far away as Apple, so that faults find pushes in flight, and the load is limited.
            $0.delay = .milliseconds(50)
            // Some cases restart it.
            $0.port = ReservedPort.choose()
            $0.observer = { event in record.note(event) }
            try configure(&$0)
        } _: { simulator in
            try await TestLoop.with { loop in
                try await Self.withDatabase(on: ground, loop) { url, cluster in
                    try await TemporaryFolder.with { folder in
                        let scene = Scene(
                            simulator: simulator,
                            client: SceneClient(url, on: loop),
                            cluster: cluster,
                            loop: loop,
                            folder: folder,
                            fleet: Fleet(database: url, folder: folder, loop: loop),
                            record: record,
                            invariants: InvariantWatch(over: url, on: loop)
                        )
                        try await scene.play(body)
                    }
                }
            }
        }
    }

    private func play(_ body: (Scene) async throws -> Void) async throws {
        try await attempt {
            do {
                try await client.run(Deletions.keep)
                try await addApp(Self.app, topic: Self.topic, to: simulator)
                await invariants.begin()
                try await body(self)
            } catch {
                fleet.tell()
                throw error
            }
        } finally: {
            await invariants.end()
            await fleet.killAll()
            await client.close()
        }
    }

    /// Adds an app that sends to the simulator, with a certificate that the simulator has issued.
    func addApp(_ name: String, topic: String, to simulator: APNsSimulator) async throws {
        try await client.session { connection in
            try await connection.addApp(name, topic: topic, to: simulator, suffixes: [".push-type.liveactivity"])
        }
    }

    private static func withDatabase(
        on ground: Ground,
        _ loop: EventLoop,
        _ body: (String, PrivateCluster) async throws -> Void
    ) async throws {
        switch ground {
        case .shared:
            try await TestDatabase.unconnected(.schema) { url in
                try await body(url, TestCluster.shared)
            }
        case .settableClock:
            try await TestDatabase.unconnected(.nothing) { url in
                try await TestDatabase.open(url) { database in try await database.run(DatabaseClock.installation) }
                try await TestDatabase.migrate(url)
                try await body(url, TestCluster.shared)
            }
        case .own(let settings):
            let cluster = try await PrivateCluster.start(settings, on: loop)
            try await attempt {
                try await TestDatabase.migrate(cluster.url())
                try await body(cluster.url(), cluster)
            } finally: {
                await cluster.stop(.immediate)
            }
        }
    }
}

extension Trait where Self == TestScope<Scene> {
    /// For ``scene``.
    static var scene: Self {
        Self(Scene.$current) { body in try await Scene.with { scene in try await body(scene) } }
    }
}

/// The scene of a case that has the trait `.scene`.
var scene: Scene { TestScope.value(of: Scene.$current) }
