package import CarillonIO
package import CarillonPostgres
import Glibc

/// Suspends processes that are not children of this one, such as those of a server. A shell resumes them after the body, and
/// when this process ends, however it ends.
package struct Suspension: Sendable {
    /// Reads the IDs of processes until its input ends.
    private static let resume =
        #"while read -r process; do processes="$processes $process"; done; kill -s CONT $processes"#

    private let leash: CInt
    private let loop: EventLoop

    package static func with<R>(on loop: EventLoop, _ body: (Suspension) async throws -> R) async throws -> R {
        let (ours, theirs) = try SocketPair(isBlocking: true).release()
        defer { close(ours) }
        var command = ChildProcess.Command("/bin/sh", ["-c", resume])
        command.input = .descriptor(theirs)
        command.output = .nothing
        command.error = .nothing
        // An interrupt typed at our terminal ends only us, so the shell still resumes what is suspended.
        command.startsSession = true
        let shell = try ChildProcess(command)
        close(theirs)
        return try await attempt {
            try await body(Suspension(leash: ours, loop: loop))
        } finally: {
            shutdown(ours, CInt(SHUT_RDWR))
            _ = try await shell.wait(on: loop, until: .now + .seconds(30))
        }
    }

    /// Returns once they are suspended. Those that have ended do not count.
    package func add(_ processes: [Int32]) async throws {
        for process in processes {
            // The shell knows it first, so that it is never left suspended.
            let line = Array("\(process)\n".utf8)
            guard send(leash, line, line.count, CInt(MSG_NOSIGNAL)) == line.count else {
                throw IOError(errno: errno, doing: "writing to the shell that resumes processes")
            }
            guard kill(process, SIGSTOP) == 0 || errno == ESRCH else {
                throw IOError(errno: errno, doing: "suspending process \(process)")
            }
        }
        try await loop.eventually("the processes \(processes) are suspended") {
            processes.allSatisfy { !Self.isRunning($0) }
        }
    }

    /// All processes of a PostgreSQL server.
    package func add(server cluster: PrivateCluster) async throws {
        let server = try cluster.server
        // Once it is suspended, it starts no other process.
        try await add([server])
        try await add(Self.children(of: server))
    }

    static func children(of process: Int32) throws -> [Int32] {
        let children = try TemporaryFolder.text(of: "/proc/\(process)/task/\(process)/children")
        return children.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    }

    /// Sessions of PostgreSQL that are idle: one that is suspended during a statement may hold locks that stop the whole server.
    package func add(idle sessions: [Int32]) async throws {
        try await loop.eventually("the sessions \(sessions) are suspended while they are idle") {
            try await add(sessions)
            if sessions.allSatisfy({ Self.isIdle($0) }) { return true }
            for session in sessions { kill(session, SIGCONT) }
            return false
        }
    }

    private static func isRunning(_ process: Int32) -> Bool { state(of: process) != "T" && !hasEnded(process) }

    /// Also if nobody has waited for it yet.
    static func hasEnded(_ process: Int32) -> Bool { state(of: process).map { "ZX".contains($0) } ?? true }

    /// proc(5): the state follows the name, which is in parentheses.
    private static func state(of process: Int32) -> Character? {
        let text = try? TemporaryFolder.text(of: "/proc/\(process)/stat")
        return text?.split(separator: ")").last?.first { $0 != " " }
    }

    /// By the title that PostgreSQL gives to each of its processes.
    private static func isIdle(_ session: Int32) -> Bool {
        guard let title = try? TemporaryFolder.text(of: "/proc/\(session)/cmdline") else { return true }
        return title.prefix { $0 != "\0" }.hasSuffix(" idle")
    }
}
