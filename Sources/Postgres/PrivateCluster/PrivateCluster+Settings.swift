extension PrivateCluster {
    package struct Settings: Sendable {
        /// Whether a commit is on disk before it is acknowledged.
        package var isDurable: Bool
        /// Whether the server also listens on 127.0.0.1, with a password. Only its user and root can reach the socket.
        package var listensOnLoopback: Bool
        /// Server parameters, as in postgresql.conf.
        package var parameters: [String: String]

        package init(isDurable: Bool, listensOnLoopback: Bool = false, parameters: [String: String] = [:]) {
            self.isDurable = isDurable
            self.listensOnLoopback = listensOnLoopback
            self.parameters = parameters
        }

        /// PostgreSQL's defaults.
        package static let durable = Settings(isDurable: true)
        /// For data that may be lost with the machine: tests and demonstrations.
        package static let fast = Settings(isDurable: false)

        func commandLine(_ programs: ServerPrograms, _ folders: ClusterFolders, port: UInt16) -> [String] {
            var settings = [
                "max_connections": "200",
                "shared_buffers": "128MB",
                "timezone": "UTC",
                "log_timezone": "UTC",
                // JIT compilation can cost more than a short statement itself.
                "jit": "off",
            ]
            if !isDurable {
                for name in ["fsync", "synchronous_commit", "full_page_writes"] { settings[name] = "off" }
            }
            settings.merge(parameters) { $1 }
            // These keep the cluster private, so they cannot be overridden.
            settings["unix_socket_directories"] = folders.folder
            settings["listen_addresses"] = listensOnLoopback ? "127.0.0.1" : ""
            settings["port"] = String(port)
            settings["logging_collector"] = "off"
            settings["log_destination"] = "stderr"
            let assignments = settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
            return [programs.postgres, "-D", folders.data] + assignments
        }

        /// Local connections need no password, because only the server's user and root reach the socket.
        var preparation: String {
            "--username=postgres --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C"
                + (isDurable ? "" : " --no-sync")
        }
    }

    /// How to stop a server; see “Shutting Down the Server” in PostgreSQL's manual.
    package enum StopMode: String, Sendable {
        /// Ends every session and leaves clean files.
        case fast = "INT"
        /// Stops at once: the next start must recover, as after a power failure.
        case immediate = "QUIT"
    }
}
