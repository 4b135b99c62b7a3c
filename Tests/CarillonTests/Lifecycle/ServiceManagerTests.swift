import CarillonIO
import CarillonText
import Dispatch
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// What systemd hears of a service of `Type=notify`.
@Suite struct ServiceManagerTests {
    private static func manager(_ environment: [String: String]) -> ServiceManager {
        let stream = TextStream(descriptor: 2, environment: [:])
        return ServiceManager(
            environment: environment,
            log: Log(stream: stream, format: .json, threshold: .info, redactor: Redactor([]))
        )
    }

    @Test func `the manager hears that the program is ready, and that it stops`() throws {
        try TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: folder.file("notify"))
            let manager = Self.manager(["NOTIFY_SOCKET": folder.file("notify")])
            manager.tellReady()
            manager.tellStopping()
            #expect(socket.received() == "READY=1")
            #expect(socket.received() == "STOPPING=1")
        }
    }

    @Test func `the manager hears again and again that the loop runs, until the body ends`() async throws {
        try await TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: folder.file("notify"))
            let manager = Self.manager(["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000"])
            try await TestLoop.with { loop in
                try await manager.watching(loop) {
                    for _ in 0..<3 { try await socket.wait(for: "WATCHDOG=1", on: loop) }
                }
                while socket.received() != nil {}
                manager.tellStopping()
                #expect(try await socket.next(on: loop) == "STOPPING=1")
            }
        }
    }

    @Test func `the manager hears nothing of a loop that is stuck`() async throws {
        try await TemporaryFolder.with { folder in
            let (socket, otherSocket) = try (
                NotificationSocket(at: folder.file("notify")), NotificationSocket(at: folder.file("other"))
            )
            let manager = Self.manager(["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000"])
            let other = Self.manager(["NOTIFY_SOCKET": folder.file("other"), "WATCHDOG_USEC": "20000"])
            try await TestLoop.with { loop in
                try await TestLoop.with { stuck in
                    try await manager.watching(stuck) {
                        try await socket.wait(for: "WATCHDOG=1", on: loop)
                        let (isStuck, end) = (Gate(), DispatchSemaphore(value: 0))
                        defer { end.signal() }
                        stuck.submit {
                            isStuck.open()
                            end.wait()
                        }
                        await isStuck.pass()
                        while socket.received() != nil {}
                        // Time goes on, as a loop that runs shows.
                        try await other.watching(loop) {
                            for _ in 0..<5 { try await otherSocket.wait(for: "WATCHDOG=1", on: loop) }
                        }
                        // One may have been on its way.
                        _ = socket.received()
                        #expect(socket.received() == nil)
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ["WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "often"], [:],
    ])
    func `a watchdog of another process, or none, is left alone`(environment: [String: String]) {
        #expect(Self.manager(environment).watchdog == nil)
    }

    @Test func `a watchdog of this process is heeded`() {
        let manager = Self.manager(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(getpid())"])
        #expect(manager.watchdog == .seconds(30))
    }

    @Test(.shop, arguments: [["worker"], ["web", "--http", "127.0.0.1:0"], ["pyapns", "--port", "0"]])
    func `a service says that it is ready, that it runs, and that it stops`(words: [String]) async throws {
        try await TestLoop.with { loop in
            let socket = try NotificationSocket(at: shop.folder.file("notify"))
            let environment = [
                "DATABASE_URL": TestLogin.url(shop.database.url, running: words),
                "NOTIFY_SOCKET": shop.folder.file("notify"), "WATCHDOG_USEC": "1000000",
            ]
            let program = try BackgroundProgram(words, environment: environment, in: shop.folder)
            try await socket.wait(for: "READY=1", on: loop)
            try await socket.wait(for: "WATCHDOG=1", on: loop)
            program.signal(SIGTERM)
            try await socket.wait(for: "STOPPING=1", on: loop)
            #expect(try await program.end(on: loop) == .status(0))
        }
    }

    @Test func `a worker that cannot reach its database is never ready`() async throws {
        try await TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: folder.file("notify"))
            let environment = [
                "DATABASE_URL": "postgresql://127.0.0.1:1/db", "NOTIFY_SOCKET": folder.file("notify"),
            ]
            #expect(try await ProgramRun.run(["worker"], environment: environment).status == 69)
            #expect(socket.received() == nil)
        }
    }
}
