import CarillonIO
import Glibc

/// The folders of a private cluster, and the user of its server, which may not be root.
struct ClusterFolders: Sendable {
    /// Created and removed by the guard. Contains the server's socket and logs, and its data unless that is kept elsewhere.
    let folder: String
    let data: String
    /// The user to run the server as; nil for this process's user.
    let user: User?

    /// - Parameter data: A folder to keep the data in; nil to put the data into the folder that is removed.
    init(data: String?) throws(PostgresError) {
        let user = try User.isRoot ? Self.unprivilegedUser(data: data) : nil
        guard let parent = Self.temporaryFolder(for: user) else {
            throw .cluster(
                "A private PostgreSQL needs a folder for temporary files that its user can write to.",
                hint: "Point TMPDIR to one with a path of at most \(Self.longestParent) bytes."
            )
        }
        self.user = user
        folder = "\(parent)/carillon-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        self.data = try data.map(Self.absolute) ?? folder + "/data"
        if data != nil { try prepareData() }
    }

    /// A socket's path may have at most 107 bytes, including our longest name.
    private static let longestParent = 107 - "/carillon-3w5e11264sgsf/.s.PGSQL.65535".utf8.count

    // MARK: The user

    private static func unprivilegedUser(data: String?) throws(PostgresError) -> User {
        // Existing data keeps its owner.
        if let data, let owner = Self.owner(of: data), owner != 0, let user = User(id: owner) { return user }
        for name in ["postgres", "nobody"] {
            if let user = User(named: name) { return user }
        }
        throw .cluster(
            "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as.",
            hint: "Run this as an ordinary user."
        )
    }

    private static func owner(of path: String) -> UInt32? {
        var facts = stat()
        return stat(path, &facts) == 0 ? facts.st_uid : nil
    }

    // MARK: Folders

    private static func temporaryFolder(for user: User?) -> String? {
        let candidates = [getenv("TMPDIR").map { String(cString: $0) }, "/tmp", "/var/tmp"]
        return candidates.compactMap { $0 }.first { path in
            path.hasPrefix("/") && path.utf8.count <= Self.longestParent
                && (user == nil ? access(path, W_OK | X_OK) == 0 : Self.isOpenToAll(path))
        }
    }

    /// Whether any user may create files there.
    private static func isOpenToAll(_ path: String) -> Bool {
        var folder = ""
        var mode: mode_t = 0
        for name in path.split(separator: "/") {
            folder += "/" + name
            var facts = stat()
            guard stat(folder, &facts) == 0, facts.st_mode & S_IXOTH != 0 else { return false }
            mode = facts.st_mode
        }
        return mode & S_IWOTH != 0
    }

    private static func absolute(_ path: String) throws(PostgresError) -> String {
        if path.hasPrefix("/") { return path }
        guard let folder = getcwd(nil, 0) else {
            throw .cluster("The current folder is gone.", hint: "Give an absolute path for the data.")
        }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private func prepareData() throws(PostgresError) {
        let isNew = mkdir(data, 0o700) == 0
        guard isNew || errno == EEXIST else {
            throw .cluster("The folder \(data) cannot be made: \(IOError.text(of: errno)).")
        }
        guard let user, Self.owner(of: data) == 0 else { return }
        guard isNew || rmdir(data) == 0 && mkdir(data, 0o700) == 0 else {
            throw .cluster(
                "The folder \(data) belongs to root and is not empty.",
                hint:
                    "Name an empty folder, or give this one to the user \(user.name) if it holds a PostgreSQL cluster."
            )
        }
        chown(data, user.id, user.group)
    }
}
