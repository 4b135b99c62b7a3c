import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonPushQueue

/// The statements of the program, by name.
enum ProgramStatements {
    /// Those in `Sources`, without those of benchmarks and of programs with a private database.
    static func all() throws -> Set<String> {
        var names: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: GeneratedPage("Sources").file) {
            if ["Benchmarks/", "Carillon/Commands/Demo/", "Postgres/"].contains(where: file.hasPrefix) { continue }
            guard file.hasSuffix(".swift") else { continue }
            let text = try GeneratedPage("Sources/" + file).text
            names.formUnion(text.matches(of: /\bStatement\(\s*"([a-z_]+)"/).map { String($0.output.1) })
        }
        return names
    }

    /// Those that a database has executed.
    static func executed(in database: String) async throws -> Set<String> {
        Set(
            try await TestCluster.log(of: database).compactMap {
                $0.firstMatch(of: #/LOG:  execute ([a-z_]+?)(?:_\d+)?: /#).map { String($0.output.1) }
            }
        )
    }

    /// Runs, in a session like a worker's, those for a row that cannot be read, a server that is silent, and rows that are
    /// committed long after their ids were drawn. Workers only plan the last one.
    static func runRare(over url: String) async throws {
        let lane = Lane(app: 1, number: 0)
        let connection = try await PostgresConnection.connect(
            url,
            application: "rare",
            settings: WorkerSessions.shared,
            timeout: TestCluster.connectTimeout
        )
        try await attempt {
            try await connection.execute(FlightStatements.discard, FlightStatements.parameters(discarding: 1, of: lane))
            try await connection.execute(WorkerDatabase.probe)
            try await connection.execute(LookStatements.below, LookStatements.parameters(below: [(lane: lane, id: 1)]))
            try await connection.execute(PlanCheck.due, Parameters(Moment(0), Int64(0), Int64(1)))
        } finally: {
            await connection.close()
        }
    }

    /// Moves an app to another database and back, so that each statement runs here.
    static func runMoves(_ shop: Shop) async throws {
        try await TestDatabase.with(.schema) { other in
            let role = "mover_\(shop.database.connection.backendProcessID)"
            let table = "CREATE TABLE public.moved (token text, seen timestamptz)"
            try await other.run(table)
            try await shop.database.run(
                "\(table); CREATE ROLE \(role); INSERT INTO carillon.apps (name) VALUES ('mover'); "
                    + "INSERT INTO carillon.tokens (app_id, token) SELECT a.id, 'aa' FROM carillon.apps a WHERE a.name = 'mover'; "
                    + "INSERT INTO carillon.results (message_id, app_id) SELECT 1, a.id FROM carillon.apps a WHERE a.name = 'mover'; "
                    + "SELECT carillon.isolate_app('mover', '\(role)'); "
                    + "SELECT carillon.watch_tokens('mover', 'public.moved', 'token', 'seen')"
            )
            // Only a run that fails has the one, and only a run beside changes of tokens the other. Without a move, both fail.
            let session = try await PostgresConnection.connect(
                shop.database.url,
                application: "rare",
                settings: WorkerSessions.shared,
                timeout: TestCluster.connectTimeout
            )
            for statement in [
                (MoveStatements.undrain, Parameters(Int32(0), Int64(0))),
                (MoveStatements.putChanges, Parameters(Int32(0), Int64(0), "{}", "{}", "now")),
            ] {
                await #expect(throws: PostgresError.self) { try await session.execute(statement.0, statement.1) }
            }
            await session.close()
            try await attempt {
                for (from, to) in [(shop.database.url, other.url), (other.url, shop.database.url)] {
                    let environment = ["DATABASE_URL": from, "CARILLON_TO": to]
                    let cancel = try await ProgramRun.run(
                        ["app", "move", "mover", "--cancel"],
                        environment: environment
                    )
                    #expect(cancel.status == 0, "\(cancel.errors)")
                    let moved = try await ProgramRun.run(["app", "move", "mover"], environment: environment)
                    #expect(moved.status == 0, "\(moved.errors)")
                    let removed = try await ProgramRun.run(
                        ["app", "remove", "mover", "--yes"],
                        environment: environment
                    )
                    #expect(removed.status == 0, "\(removed.errors)")
                }
            } finally: {
                try await shop.database.run("SELECT carillon.unisolate_app('mover', '\(role)')")
                try await shop.database.run("DROP OWNED BY \(role); DROP ROLE \(role)")
            }
        }
    }
}
