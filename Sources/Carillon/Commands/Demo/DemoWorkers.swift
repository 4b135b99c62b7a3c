import ApplePush
import CarillonHTTPClient
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Glibc

/// The workers of the demonstration, each on a loop of its own, as if they were separate programs.
final class DemoWorkers: Sendable {
    private struct Member: Sendable {
        let worker: RunningWorker
        let backend: TransportBackend
        let loop: EventLoop
        let run: Task<RunningWorker.Ending, any Error>
    }

    private let members: [Member]
    private let client: HTTPClient

    /// - Parameters:
    ///   - isCounted: the demonstration counts pushes that were sent twice, runs the feedback pass itself, and waits for
    ///     pushes in flight at the end. The lease is long, so that no worker is declared dead because the machine is busy.
    ///     If false, pushes in flight are abandoned after two seconds, because none of the data is kept.
    ///   - isSilent: problems are not printed, because they are shown elsewhere.
    init(count: Int, database: String, name: String, isCounted: Bool, isSilent: Bool = false, console: Console) throws {
        var options = WorkerOptions()
        options.database = DatabaseSource(database)
        options.host = WorkerOptions.hostName
        options.processID = getpid()
        options.version = Program.version
        // A user should not have to wait for the demonstration.
        options.retry = RetryPolicy(base: .milliseconds(100), cap: .seconds(1))
        var limits = HTTP2Configuration()
        if isCounted {
            options.lease = .seconds(120)
            options.feedbackInterval = .zero
            limits.requestTimeout = .seconds(60)
            limits.totalTimeout = .seconds(120)
        } else {
            options.drainTimeout = .seconds(2)
        }
        let log = console.log
        let configuration = limits
        let client = HTTPClient()
        self.client = client
        members = try (1...count).map { number in
            options.name = "\(name)-\(number)"
            let loop = try EventLoop(name: options.name)
            let backend = TransportBackend(http2: HTTP2Backend(configuration), binary: BinaryBackend())
            let worker = RunningWorker(
                options,
                label: nil,
                ceiling: nil,
                peers: WorkerPeers(),
                backend: backend,
                client: client,
                loop: loop,
                log: log
            ) { kind in
                switch kind {
                case .started, .draining, .ended, .split, .maintained, .maintenanceFailed: false  // of no interest here
                default: !isSilent
                }
            }
            return Member(worker: worker, backend: backend, loop: loop, run: Task { try await worker.run() })
        }
    }

    var total: Settlement.Tally { .sum(members.map { $0.worker.counters.total }) }

    /// Waits until this many pushes have ended, and shows the progress. Throws if there is no progress for long.
    func waitUntilEnded(
        _ count: Int,
        on loop: EventLoop,
        _ progress: (Settlement.Tally) -> Void
    ) async throws -> Settlement.Tally {
        var before = -1
        var lastMove = MonotonicInstant.now
        while true {
            let total = total
            progress(total)
            let ended = total.sent + total.failed + total.expired
            if ended >= count { return total }
            if ended + total.retried != before {
                before = ended + total.retried
                lastMove = .now
            } else if MonotonicInstant.now - lastMove > .seconds(30) {
                throw CommandError(.failed, "There was no progress for 30 s: \(ended) of \(count) pushes have ended.")
            }
            try await loop.sleep(for: .milliseconds(50))
        }
    }

    /// Lets the workers settle what is in flight, and stops them.
    func end() async {
        for member in members { member.worker.drain() }
        for member in members {
            _ = await member.run.result
            await member.backend.shutdown()
            member.loop.stop()
            member.loop.join()
        }
        client.stop()
    }
}
