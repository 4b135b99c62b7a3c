import CarillonIO
import CarillonText
import Glibc
import TestSupport
import Testing

@testable import CarillonPostgres

@Suite struct PrivateClusterTests {
    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private static func waitUntilGone(_ folder: String) async throws {
        try await TestLoop.shared.eventually("\(folder) is gone") { !Self.exists(folder) }
    }

    @Test func `a cluster stops on request, and leaves nothing`() async throws {
        let cluster = try await PrivateCluster.start(.fast, on: TestLoop.shared)
        let server = try Self.firstLine(of: cluster.folder + "/server.pid")
        #expect(Self.exists(cluster.folder + "/.s.PGSQL.5432"))
        #expect(kill(try #require(Int32(server)), 0) == 0)
        await cluster.stop()
        #expect(!Self.exists(cluster.folder))
        #expect(kill(try #require(Int32(server)), 0) == -1)
        await cluster.stop()
    }

    @Test func `a cluster stops with the last reference to it`() async throws {
        func forget() async throws -> (folder: String, server: Int32?) {
            let cluster = try await PrivateCluster.start(.fast, on: TestLoop.shared)
            return (cluster.folder, Int32(try Self.firstLine(of: cluster.folder + "/server.pid")))
        }
        let (folder, server) = try await forget()
        try await Self.waitUntilGone(folder)
        #expect(kill(try #require(server), 0) == -1)
    }

    @Test func `a cluster ends with its owner, even one that is killed`() async throws {
        try await TemporaryFolder.with { work in
            let owner = try BackgroundProgram(["try"], in: work)
            let psql = try await owner.line(containing: "psql '", on: TestLoop.shared)
            let host = try #require(psql.split(separator: "host=").last?.prefix { !"&'".contains($0) })
            let folder = String(host).replacing("%2F", with: "/")
            let server = try #require(Int32(try Self.firstLine(of: folder + "/server.pid")))
            #expect(kill(server, 0) == 0)
            #expect(try await owner.end(by: SIGKILL, on: TestLoop.shared) == .signal(SIGKILL))
            try await Self.waitUntilGone(folder)
            #expect(kill(server, 0) == -1)
        }
    }

    @Test func `never runs as root`() async throws {
        let cluster = try await TestCluster.shared
        var facts = stat()
        #expect(stat(cluster.folder, &facts) == 0)
        #expect(facts.st_uid != 0)
        #expect(facts.st_mode & 0o077 == 0)
    }

    @Test func `a cluster keeps its data in the folder that it is given`() async throws {
        try await TemporaryFolder.with { folder in
            // The server's user has to get through, whoever that is.
            #expect(chmod(folder.path, 0o755) == 0)
            let data = folder.file("data")
            if !User.isRoot { #expect(chmod(folder.path, 0o700) == 0) }
            for round in 0..<2 {
                let cluster = try await PrivateCluster.start(.fast, data: data, on: TestLoop.shared)
                let connection = try await PostgresConnection.connect(cluster.url(), application: "a")
                if round == 0 { try await connection.script("CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)") }
                #expect(try await connection.execute(Statement("kept", "SELECT * FROM kept")) == 1)
                await connection.close()
                await cluster.stop()
                #expect(!Self.exists(cluster.folder))
                #expect(Self.exists(data + "/PG_VERSION"))
            }
        }
    }

    @Test func `a server that cannot start reports the cause, and leaves nothing`() async throws {
        let settings = PrivateCluster.Settings(isDurable: false, parameters: ["shared_buffers": "nonsense"])
        let error = await #expect(throws: PostgresError.self) {
            try await PrivateCluster.start(settings, on: TestLoop.shared)
        }
        #expect(error?.code == .clusterFailed)
        #expect(error?.message.contains("shared_buffers") == true)
    }

    @Test func `without PostgreSQL names the package`() {
        let error = #expect(throws: PostgresError.self) {
            try ServerPrograms.find(path: "/nonexistent:/dev", debian: "/nonexistent")
        }
        #expect(error?.code == .notInstalled)
        #expect(error?.hint?.contains("apt-get install postgresql") == true)
    }

    @Test func `a cluster has the highest version that Debian installed`() throws {
        try TemporaryFolder.with { folder in
            for version in ["9", "15", "banana"] {
                #expect(mkdir(folder.file(version), 0o755) == 0)
                #expect(mkdir(folder.file(version) + "/bin", 0o755) == 0)
                for program in ["initdb", "postgres"] {
                    let path = try folder.write("\(version)/bin/\(program)", "")
                    #expect(chmod(path, 0o755) == 0)
                }
            }
            let programs = try ServerPrograms.find(path: "", debian: folder.path)
            #expect(programs.folder == folder.file("15/bin"))
        }
    }

    private static func firstLine(of path: String) throws -> String {
        let file = try #require(fopen(path, "re"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 100)
        _ = fgets(&line, 100, file)
        return String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).trimmed
    }
}
