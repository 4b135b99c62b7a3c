package import CarillonIO
package import CarillonPostgres
import Glibc

/// A PgBouncer before a cluster. It ends with the body, or with this process, also when that crashes.
package struct TestPooler: Sendable {
    package let processID: Int32
    private let port: UInt16

    private static let program: String? = {
        let folders = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { $0 + "/pgbouncer" }.first { access($0, X_OK) == 0 }
    }()

    /// `make test` installs it where it can.
    package static var isInstalled: Bool { Self.program != nil }

    package func url(database: String) -> String {
        "postgresql://anybody@127.0.0.1:\(port)/\(database)"
    }

    /// - Parameters:
    ///   - mode: how long a client keeps a connection to the server: a session, a transaction or a statement.
    ///   - size: how many connections to a database all clients share.
    ///   - login: whose connections these are; nil: the superuser's.
    package static func with<R>(
        _ mode: String = "transaction",
        size: Int,
        as login: TestLogin? = nil,
        before cluster: PrivateCluster,
        on loop: EventLoop,
        _ body: (TestPooler) async throws -> R
    ) async throws -> R {
        try await TemporaryFolder.with { folder in
            let port = ReservedPort.choose()
            let url = login?.url(cluster.loopbackURL()) ?? cluster.loopbackURL()
            let settings = try folder.write("pgbouncer.ini", self.settings(mode, size: size, port: port, before: url))
            let (ours, theirs) = try SocketPair().release()
            _ = fcntl(theirs, F_SETFL, 0)  // the shell waits by reading it
            let (voice, speaker) = try SocketPair().release()
            defer {
                close(ours)
                close(voice)
            }
            // Like PostgreSQL it refuses to be root. The shell ends it when our end of its input is closed.
            let script = #""$0" "$1" </dev/null & echo "pid $!" >&2; read -r _; kill -s TERM "$!"; wait"#
            var command = ChildProcess.Command("/bin/sh", ["-c", script, program ?? "pgbouncer", settings])
            if User.isRoot { command.user = User(named: "postgres") ?? User(named: "nobody") }
            command.input = .descriptor(theirs)
            command.output = .nothing
            command.error = .descriptor(speaker)
            command.startsSession = true
            let child = try ChildProcess(command)
            close(theirs)
            close(speaker)
            return try await attempt {
                let processID = try await processIDOnceUp(voice, on: loop)
                return try await body(TestPooler(processID: processID, port: port))
            } finally: {
                shutdown(ours, CInt(SHUT_RDWR))
                _ = try await child.wait(on: loop, until: .now + .seconds(30))
            }
        }
    }

    private static func settings(_ mode: String, size: Int, port: UInt16, before url: String) -> String {
        // The login, its password, the host, the port and a database.
        let words = url.split(whereSeparator: { ":/@".contains($0) }).dropFirst().map(String.init)
        return """
            [databases]
            * = host=\(words[2]) port=\(words[3]) user=\(words[0]) password=\(words[1])
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            default_pool_size = \(size)
            max_client_conn = 200
            log_connections = 0
            log_disconnections = 0
            log_stats = 0
            """
    }

    /// Waits until PgBouncer is up.
    private static func processIDOnceUp(_ voice: CInt, on loop: EventLoop) async throws -> Int32 {
        var heard = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if heard.contains("process up"),
                let line = heard.split(separator: "\n").first(where: { $0.hasPrefix("pid ") }),
                let processID = Int32(line.dropFirst(4))
            {
                return processID
            }
            _ = try await loop.readiness(of: voice, for: .read, until: .now + .seconds(30), doing: "starting PgBouncer")
            let count = read(voice, &buffer, buffer.count)
            guard count > 0 else { throw IOError(.system, "PgBouncer did not start: \(heard)") }
            heard += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
