import CarillonIO
import Glibc
import TestSupport
import Testing

/// Workers that are short of a resource.
@Suite struct ScarcityCases {
    @Test func `W8: a worker limited to 32 files sends for more apps than it can have connections`() async throws {
        try await Scene.with { scene in
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
    }

    @Test func `W11: a worker whose output is closed, or not read, goes on sending`() async throws {
        try await Scene.with { scene in
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
            deaf.terminate()
            #expect(try await deaf.end() == .status(0))
            try await scene.enqueue(1000)
            try await scene.drained()
            #expect(closed.isRunning)
            try await scene.finish()
        }
    }
}
