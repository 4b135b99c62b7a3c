import CarillonIO
import Glibc
import TestSupport
import Testing

/// Workers that are short of a resource.
@Suite(.scene) struct ScarcityCases {
    @Test func `W8: a worker limited to 32 files sends for more apps than it can have connections`() async throws {
        let apps = 24
        for app in 1...apps { try await scene.addApp("app\(app)", topic: Scene.topic, to: scene.simulator) }
        for app in 1...apps { try await scene.enqueue(50, app: "app\(app)") }
        let worker = try scene.fleet.start(["--idle-timeout", "1s"], lease: .seconds(6), shell: "ulimit -n 32")
        // An app that finds no free descriptor is held, each time longer, up to 60 s; a busy machine frees few of them.
        try await scene.drained(within: .seconds(240))
        #expect(worker.isRunning)
        let complaints = worker.lines(containing: "Too many open files")
        #expect(!complaints.isEmpty)
        for line in complaints {
            #expect(line.contains("is 32;") && line.contains("ulimit -n") && line.contains("LimitNOFILE"))
            #expect(!line.contains("check"))
        }
        try await scene.finish()
    }

    @Test(.disabled(if: Sanitizer.isLoaded, "its programs need more address space"), arguments: [150, 200, 250, 400])
    func `W22: a worker without enough address space says so and ends with status 70`(megabytes: Int) async throws {
        let worker = try scene.fleet.start(shell: "ulimit -v \(megabytes << 10)")
        #expect(try await worker.end() == .status(70))
        #expect(worker.said.contains("is \(megabytes) MB of address space"))
    }

    // LeakSanitizer looks for leaks on a thread of its own, when the program ends.
    @Test(arguments: (Sanitizer.isLoaded ? [] : [1]) + [4, 8, 20])
    func `W22: a worker that may have too few threads says so and ends with status 70`(threads: Int) async throws {
        // The kernel limits no thread of root's. The user of this number has no other processes.
        let user = 200_000 + Int(getpid())
        let stranger =
            "setpriv --reuid=\(user) --regid=\(user) --clear-groups --inh-caps=+dac_read_search "
            + "--ambient-caps=+dac_read_search -- "
        let become = "exec \(getuid() == 0 ? stranger : "")prlimit --nproc=\(threads) -- \"$0\" \"$@\""
        let worker = try scene.fleet.start(shell: become)
        #expect(try await worker.end() == .status(70))
        #expect(worker.said.contains("threads") && worker.said.contains("ulimit -u"), "\(worker.said)")
    }

    @Test
    func `W23: a worker that is short of descriptors while it starts says so, and crashes at no limit`() async throws {
        for files in 4...32 {
            let url = "postgresql://no-such-host.invalid/x"
            let worker = try scene.fleet.start(database: url, shell: "ulimit -n \(files)")
            let exit = try await worker.end()
            let saysSo = worker.said.contains("ulimit -n")
            #expect([.status(69), .status(70), .status(75)].contains(exit), "\(files): \(exit)")
            #expect(saysSo || worker.said.contains("no-such-host.invalid"), "\(files): \(worker.said)")
        }
    }

    /// By a host name, which needs descriptors to be looked up, to a server that is there.
    @Test func `W23: a worker that is short of descriptors blames them, and no database that is there`() async throws {
        let address = TestLogin.worker.url(scene.cluster.loopbackURL(database: scene.database))
        let url = address.replacing("@127.0.0.1:", with: "@localhost:")
        try #require(url != address)
        for files in 4...32 {
            let worker = try scene.fleet.start(lease: Fleet.calm, database: url, shell: "ulimit -n \(files)")
            try await scene.eventually("a worker limited to \(files) files has started or ended") {
                !worker.isRunning || !worker.lines(containing: "The worker has started.").isEmpty
            }
            let hasStarted = worker.isRunning
            let exit = hasStarted ? try await worker.stop() : try await worker.end()
            // Of the program alone: a sanitizer has its own. One that ended after its registration is taken over some time.
            let complaints = worker.said.split(separator: "\n").filter { line in
                (line.hasPrefix("{") || line.hasPrefix("carillon: ")) && !line.contains(#""level":"info""#)
                    && !line.contains("Took over the jobs")
            }
            #expect(hasStarted || !complaints.isEmpty, "\(files): \(exit)")
            #expect([.status(69), .status(70), .status(75)].contains(exit) || hasStarted && exit == .status(0))
            for line in complaints {
                #expect(line.contains("ulimit -n") && !line.contains("check that PostgreSQL runs"), "\(files): \(line)")
            }
        }
    }

    @Test func `W11: a worker whose output is closed, or not read, continues to send`() async throws {
        let pipe = scene.folder.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let end = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        try #require(end >= 0)
        defer { close(end) }
        let line = [UInt8](repeating: 0, count: 4096)
        while write(end, line, line.count) > 0 {}
        try await scene.enqueue(1000)
        let deaf = try scene.fleet.start(
            ["--log-level", "debug"],
            lease: Fleet.calm,
            shell: "exec >'\(pipe)' 2>&1"
        )
        try await scene.drained()
        let closed = try scene.fleet.start(["--log-level", "debug"], lease: Fleet.calm, shell: "exec <&- >&- 2>&-")
        #expect(try await deaf.stop() == .status(0))
        try await scene.enqueue(1000)
        try await scene.drained()
        #expect(closed.isRunning)
        try await scene.finish()
    }
}
