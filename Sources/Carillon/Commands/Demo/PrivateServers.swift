import ApplePushSimulator
import CarillonIO
import CarillonPostgres

/// A private PostgreSQL and a simulator of APNs, which exist as long as `play` runs. Both are removed at the end.
struct PrivateServers: Sendable {
    /// What the simulator answers in `carillon try` and `carillon demo --web`: the first digits of a token decide.
    static let answers = ["dead=410:Unregistered", "bad=400:BadDeviceToken", "503=503:ServiceUnavailable*2"]
    static let answersText =
        "Tokens that begin with dead get 410, those with bad get 400, and those with 503 get 503 twice and then 200"

    let configuration: SimulatorConfiguration
    let console: Console
    let loop: EventLoop

    func with<R: Sendable>(_ play: @Sendable (PrivateCluster, APNsSimulator) async throws -> R) async throws -> R {
        let cluster = try await PrivateCluster.start(.fast, on: loop)
        return try await Cleanup.after({ await cluster.stop() }) {
            let gateway = try APNsSimulator(configuration)
            try await gateway.start()
            return try await Cleanup.after({ await gateway.stop() }) { try await play(cluster, gateway) }
        }
    }

    /// Returns when it is interrupted, which is its normal end.
    /// - Parameter play: receives the URL of the database, and the gateway.
    func run(_ play: @Sendable (String, APNsSimulator) async throws -> Void) async throws -> ExitStatus {
        do {
            console.note("Starting a private PostgreSQL ...")
            try await with { try await play($0.url(), $1) }
        } catch  where Task.isCancelled {
            // Interrupted: everything has been stopped.
        }
        console.note("Everything that was started has been stopped.")
        return .done
    }
}
