import CarillonIO
import Glibc
import TestSupport

/// The workers of a case.
final class Fleet: Sendable {
    /// Short, so that a test can wait for the takeover of a dead worker's claims.
    static let lease = Duration.seconds(2)
    /// Long, for cases without dead workers: on a busy machine a worker may not run for two seconds, and then rightly counts as
    /// dead.
    static let calm = Duration.seconds(60)
    /// On a busy machine an answer may be late, and must not count as unknown.
    private static let longTimeout = ["--request-timeout", "60s"]

    private let database: String
    private let folder: TemporaryFolder
    private let loop: EventLoop
    private let workers = Guarded<[WorkerProcess]>([])

    init(database: String, folder: TemporaryFolder, loop: EventLoop) {
        self.database = database
        self.folder = folder
        self.loop = loop
    }

    /// Starts a worker. Unless a case says otherwise, it waits long for answers.
    /// - Parameters:
    ///   - database: instead of the case's own; with the login in this URL.
    ///   - shell: what a shell runs before it becomes the worker, such as "ulimit -n 32".
    func start(
        _ flags: [String] = [],
        lease: Duration = Fleet.lease,
        database: String? = nil,
        shell: String? = nil
    ) throws -> WorkerProcess {
        let timeout = flags.contains(Self.longTimeout[0]) ? [] : Self.longTimeout
        let words =
            [
                "worker", "--lease", "\(lease.components.seconds)s", "--retry-base", "50ms", "--retry-cap", "500ms",
                "--http", "127.0.0.1:0",
            ] + timeout + flags
        var command = ChildProcess.Command(try ProgramRun.path, words)
        if let shell {
            command = ChildProcess.Command("/bin/sh", ["-c", "\(shell); exec \"$0\" \"$@\"", command.program] + words)
        }
        let url = database ?? TestLogin.url(self.database, running: words)
        command.environment = ProgramRun.environment(["DATABASE_URL": url])
        command.directory = folder.path
        return try workers.withLock { workers in
            let name = "worker-\(workers.count + 1)"
            let worker = try WorkerProcess(command, name: name, in: folder, on: loop)
            workers.append(worker)
            return worker
        }
    }

    /// Starts a worker and waits until it has begun to work.
    @discardableResult
    func started(_ flags: [String] = [], lease: Duration = Fleet.lease) async throws -> WorkerProcess {
        let worker = try start(flags, lease: lease)
        try await worker.started()
        return worker
    }

    /// Starts that many workers.
    @discardableResult
    func started(_ count: Int, _ flags: [String] = [], lease: Duration = Fleet.lease) async throws -> [WorkerProcess] {
        var workers: [WorkerProcess] = []
        for _ in 0..<count { workers.append(try await started(flags, lease: lease)) }
        return workers
    }

    var all: [WorkerProcess] { workers.withLock { $0 } }
    var running: [WorkerProcess] { all.filter(\.isRunning) }

    /// Stops all running workers; returns a sentence for each that did not end with status 0.
    func stop(within limit: Duration = .seconds(180)) async throws -> [String] {
        let running = self.running
        for worker in running { worker.terminate() }
        var bad: [String] = []
        for worker in running {
            let exit = try await worker.end(within: limit)
            if exit != .status(0) { bad.append("\(worker.name) ended with \(exit); the last it said:\n\(worker.last)") }
        }
        return bad
    }

    /// Kills all workers, in any state.
    func killAll() async {
        for worker in all { worker.kill() }
        for worker in all {
            _ = try? await worker.end()
            FakeTime.forget(worker.processID)
        }
    }

    /// Prints warnings, errors and the last lines of each worker, to explain a failure.
    func tell() {
        for worker in all {
            let said = worker.said.split(separator: "\n")
            let complaints = said.filter { $0.contains(#""level":"warning""#) || $0.contains(#""level":"error""#) }
            let lines = (complaints.prefix(5) + ["…"] + said.suffix(3)).joined(separator: "\n    ")
            print("fault board: \(worker.name) (\(worker.isRunning ? "running" : "ended")):\n    \(lines)")
        }
    }
}
