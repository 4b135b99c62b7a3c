import CarillonIO
import CarillonPostgres
import CarillonSchema
import Glibc

/// The private PostgreSQL of a one-machine installation, in its own folder, with an up-to-date schema.
///
/// Programs of the same user connect through `socket` in that folder, wherever the server's own socket is.
enum EmbeddedDatabase {
    static func with<R>(
        _ invocation: Invocation,
        on loop: EventLoop,
        _ body: (_ url: String) async throws -> R
    ) async throws -> R {
        guard !invocation.settings.isChosen(.database) else {
            throw UsageError(
                "--embedded has its own database: leave out --database, CARILLON_DATABASE and DATABASE_URL."
            )
        }
        guard let folder = invocation.settings.text(.data) else {
            throw UsageError("--embedded needs --data DIR, the folder of its PostgreSQL.")
        }
        try make(folder)
        let cluster = try await PrivateCluster.start(.durable, data: folder + "/postgresql", on: loop)
        return try await Cleanup.after({ await cluster.stop() }) {
            try link(cluster.folder, at: folder + "/socket")
            let source = DatabaseSource(cluster.url())
            try await DatabaseScope.with(source, on: loop, application: "carillon migrate") { connection in
                _ = try await Migrator(connection).up()
            }
            invocation.console.log.info("The embedded PostgreSQL is running.", ["url": cluster.url()])
            return try await body(cluster.url())
        }
    }

    private static func make(_ folder: String) throws(FileError) {
        guard mkdir(folder, 0o755) != 0, errno != EEXIST else { return }
        throw FileError(path: folder, reason: FileError.reason(errno))
    }

    private static func link(_ target: String, at path: String) throws(FileError) {
        unlink(path)
        guard symlink(target, path) != 0 else { return }
        throw FileError(path: path, reason: FileError.reason(errno))
    }
}
