import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// Tables that an administrator rewrites to remove bloat while workers use them.
@Suite struct TableRewriteCases {
    /// The path of pg_repack, which is beside the programs of the server; the PATH may have only links to these.
    private static let repack: String? = {
        guard let postgres = try? PrivateCluster.program("postgres"), let path = realpath(postgres, nil) else {
            return nil
        }
        defer { free(path) }
        let program = String(cString: path).split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/pg_repack"
        return access(program, X_OK) == 0 ? program : nil
    }()

    /// Has two workers send, fail and retry while the body runs; nothing is lost or sent twice.
    private static func withWorkers(_ body: (Scene) async throws -> Void) async throws {
        let answers = try ["ee=503:Shutdown*2", "bad=400:BadDeviceToken"].map { try AnswerRule(parsing: $0) }
        try await Scene.with({ $0.answers = answers }) { scene in
            let workers = try await scene.fleet.started(2, lease: Fleet.calm)
            try await scene.underLoad {
                for _ in 1...Board.sized(2, full: 10) {
                    try await scene.enqueue(200, prefix: "ee")
                    try await scene.enqueue(50, prefix: "bad")
                    try await scene.goesOn()
                    try await body(scene)
                }
                try await scene.goesOn(500)
            }
            try await scene.finish()
            for worker in workers {
                #expect(worker.lines(containing: "considered this worker dead").isEmpty, "\(worker.name)")
            }
        }
    }

    @Test
    func `D40: VACUUM FULL and CLUSTER of each table under load make workers wait, and nothing else`() async throws {
        try await Self.withWorkers { scene in
            let statements = try await scene.client.query(
                """
                SELECT 'VACUUM FULL ' || c.oid::regclass FROM pg_class c
                WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind = 'r'
                UNION ALL
                SELECT format('CLUSTER %s USING %I', i.indrelid::regclass, x.relname)
                FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
                WHERE x.relnamespace = 'carillon'::regnamespace AND x.relkind = 'i' AND m.amname = 'btree'
                    AND i.indpred IS NULL
                """
            ) { rows in try rows.indices.map { try rows.string($0, 0) } }
            #expect(statements.count > 50)
            try await scene.client.session { session in
                for statement in statements { try await session.script(statement) }
            }
        }
    }

    /// It copies a table, follows its changes by a trigger, and swaps the files.
    @Test(.enabled(if: Self.repack != nil, "pg_repack is not installed (the package postgresql-15-repack)"))
    func `D41: pg_repack swaps each table under load, and nothing is lost or sent twice`() async throws {
        let program = try #require(Self.repack)
        try await Self.withWorkers { scene in
            try await scene.client.run("CREATE EXTENSION IF NOT EXISTS pg_repack")
            var command = ChildProcess.Command(
                program,
                ["--host=127.0.0.1", "--port=\(scene.cluster.port)", "--username=postgres", "--no-kill-backend"]
                    + ["--dbname=\(scene.database)", "--schema=carillon"]
            )
            command.environment = ProgramRun.environment(["PGPASSWORD": scene.cluster.password])
            command.output = .file(scene.folder.file("repack.log"))
            command.error = command.output
            let exit = try await ChildProcess(command).wait(on: scene.loop, until: .now + .seconds(120))
            let said = try scene.folder.read("repack.log")
            #expect(exit == .status(0), "\(said)")
            for table in ["messages", "inflight", "scheduled", "unfinished", "workers", "push_counts"] {
                #expect(said.contains("\"carillon.\(table)\""), "\(said)")
            }
        }
    }
}
