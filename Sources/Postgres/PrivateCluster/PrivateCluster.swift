package import CarillonIO
import CarillonText
import Glibc

/// A private PostgreSQL server for demonstrations, tests and one-machine installations. It has its own folder and socket, separate
/// from any other cluster on the machine.
///
/// It stops, and its folder is removed, at `stop()`, with the last reference to it, and when this process ends, however it ends.
package actor PrivateCluster {
    private let programs: ServerPrograms
    private let folders: ClusterFolders
    private let settings: Settings
    /// The superuser's, for connecting through 127.0.0.1, if the settings say so.
    package nonisolated let password: String
    private let loop: EventLoop
    /// The port on 127.0.0.1, if the settings ask for it.
    package nonisolated let port: UInt16
    /// The guard, which runs the server.
    private var process: ChildProcess?
    /// Our end of a socket pair; the guard reads the other end. When this process ends, however it ends, the kernel closes ours,
    /// and the guard stops the cluster.
    private var leash: Socket?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Prepares and starts a cluster. With `data`, the data is kept in that folder and reused; otherwise it is removed with the
    /// cluster.
    package static func start(
        _ settings: Settings,
        data: String? = nil,
        on loop: EventLoop
    ) async throws(PostgresError) -> PrivateCluster {
        let programs = try ServerPrograms.find()
        var attempts = 5
        while true {
            attempts -= 1
            let folders = try ClusterFolders(data: data)
            let cluster = try PrivateCluster(programs, folders, settings, on: loop)
            do {
                try await cluster.run()
                return cluster
            } catch {
                // Another program may have taken the free port in the meantime.
                if attempts > 0 && settings.listensOnLoopback && error.message.contains("Address already in use") {
                    continue
                }
                throw error
            }
        }
    }

    private init(
        _ programs: ServerPrograms,
        _ folders: ClusterFolders,
        _ settings: Settings,
        on loop: EventLoop
    ) throws(PostgresError) {
        self.programs = programs
        self.folders = folders
        self.settings = settings
        self.loop = loop
        password =
            String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        // If the server does not listen on the network, the port is only part of the socket's name.
        do {
            port = settings.listensOnLoopback ? try ListeningSocket(host: "127.0.0.1", port: 0).port : 5432
        } catch {
            throw .cluster("No port on 127.0.0.1 is free: \(error.message).", underlying: error)
        }
    }

    /// The folder with the server's socket and log.
    package nonisolated var folder: String { folders.folder }

    /// The URL for connecting through the socket, as the superuser.
    package nonisolated func url(database: String = "postgres") -> String {
        let keep = "-_./"
        let folder = folders.folder.percentEncoded(keeping: keep)
        return "postgresql:///\(database.percentEncoded(keeping: keep))?host=\(folder)&port=\(port)&user=postgres"
    }

    /// Stops the server, waits for its end and removes its folder. A second call does nothing.
    package func stop(_ mode: StopMode = .fast) async { await end(mode, "remove") }

    /// Stops the server and starts it again, with the same data, socket and port.
    package func restart(_ mode: StopMode = .fast) async throws(PostgresError) {
        await end(mode, "keep")
        try await run()
    }

    private func end(_ mode: StopMode, _ fate: String) async {
        guard let process = process.take(), let leash = leash.take() else { return }
        Self.say("\(mode.rawValue) \(fate)", over: leash)
        // In its own task, because the wait must continue if the caller's task is cancelled.
        let loop = self.loop
        await Task { _ = try? await process.wait(on: loop) }.value
    }

    /// A failed write is harmless: if the guard has ended, so has its cluster.
    private static func say(_ line: String, over leash: borrowing Socket) {
        _ = try? leash.write(Array((line + "\n").utf8).span.bytes)
    }

    // MARK: Starting

    private func run() async throws(PostgresError) {
        do {
            let (near, far) = try SocketPair(isBlocking: true).release()
            let leash = Socket(owning: near)
            let other = Socket(owning: far)
            var command = ChildProcess.Command("/bin/sh", arguments)
            // Leave out our variables that affect a server.
            command.environment = [
                "PATH": getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin", "LC_ALL": "C",
            ]
            command.directory = "/"
            command.input = .descriptor(other.descriptor)
            command.output = .nothing
            command.error = .nothing
            command.user = folders.user
            command.startsSession = true
            process = try ChildProcess(command)
            _ = consume other
            Self.say(password, over: leash)
            self.leash = consume leash
        } catch {
            throw .cluster("A private PostgreSQL cannot be started: \(error.message).", underlying: error)
        }
        do {
            try await waitUntilReady()
        } catch {
            await stop(.immediate)
            throw error
        }
    }

    private var arguments: [String] {
        ["-c", ClusterGuard.script, "carillon-postgres", folders.folder, folders.data, programs.initdb]
            + [settings.preparation] + settings.commandLine(programs, folders, port: port)
    }

    /// The server's lock file shows when it accepts connections.
    private func waitUntilReady() async throws(PostgresError) {
        let deadline = MonotonicInstant.now + .seconds(120)
        while !isReady {
            guard let process else { throw .cluster("The private PostgreSQL was stopped while it started.") }
            if let exit = process.exitIfEnded() {
                throw .cluster("The private PostgreSQL's folder \(folder) cannot be made (\(exit)).")
            }
            if access(path(ClusterGuard.ended), F_OK) == 0 {
                throw .cluster("The private PostgreSQL did not start: \(lastWords).")
            }
            if .now > deadline { throw .cluster("The private PostgreSQL was not ready in two minutes: \(lastWords).") }
            do {
                try await loop.sleep(for: .milliseconds(10))
            } catch {
                throw PostgresError(.cancelled, "Starting the private PostgreSQL was cancelled.")
            }
        }
    }

    private var isReady: Bool {
        let lines = Self.text(of: folders.data + "/postmaster.pid").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        // A killed server leaves such a file too, with another process ID.
        return lines.count > 7 && lines[7].hasPrefix("ready")
            && String(lines[0]) == Self.text(of: path(ClusterGuard.server)).trimmed
    }

    /// The last complaints in the logs.
    private var lastWords: String {
        let texts = [ClusterGuard.log, ClusterGuard.preparationLog].map { Self.text(of: path($0)) }
        let lines = texts.flatMap { $0.split(separator: "\n") }
        let complaints = lines.filter { line in
            ["FATAL:", "PANIC:", "ERROR:", "error:", "could not"].contains { line.contains($0) }
        }
        return complaints.isEmpty
            ? lines.suffix(3).joined(separator: "; ") : complaints.suffix(4).joined(separator: "; ")
    }

    private func path(_ name: String) -> String { folders.folder + "/" + name }
}

extension PrivateCluster {
    private static func text(of path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        // Only the end of a log matters.
        if fseek(file, -buffer.count, SEEK_END) != 0 { rewind(file) }
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
