import FoundationEssentials
import Glibc

/// The folder of a PostgreSQL server's programs on this machine.
struct ServerPrograms: Sendable {
    let folder: String

    var initdb: String { folder + "/initdb" }
    var postgres: String { folder + "/postgres" }

    /// Searches the folders of `path`, then Debian's folders from the highest version down, for the first that has both programs.
    static func find(
        path: String = getenv("PATH").map { String(cString: $0) } ?? "",
        debian: String = "/usr/lib/postgresql"
    ) throws(PostgresError) -> ServerPrograms {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let versions = names.compactMap { Int($0) }.sorted(by: >)
        let folders = path.split(separator: ":").map(String.init) + versions.map { "\(debian)/\($0)/bin" }
        for folder in folders {
            let programs = ServerPrograms(folder: folder)
            if access(programs.initdb, X_OK) == 0 && access(programs.postgres, X_OK) == 0 { return programs }
        }
        throw PostgresError(
            .notInstalled,
            "A private PostgreSQL needs the server's programs initdb and postgres, which are not on this machine.",
            hint: "Install them (on Debian and Ubuntu: apt-get install postgresql) or add their folder to PATH."
        )
    }
}

extension PrivateCluster {
    /// The path of another PostgreSQL program: in the same folder, so that the versions match, or else just its name, to be found
    /// in `PATH`.
    package static func program(_ name: String) throws(PostgresError) -> String {
        let path = try ServerPrograms.find().folder + "/" + name
        return access(path, X_OK) == 0 ? path : name
    }
}
