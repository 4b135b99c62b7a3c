import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Statements that PostgreSQL refuses while workers run.
@Suite struct RefusedWriteCases {
    enum Refusal: Sendable {
        /// The right to insert into these tables is revoked.
        case rights([String])
        /// A trigger of `inflight` raises an error with this code.
        case trigger(String)
        /// This table has another name.
        case table(String)
        /// This function has another name.
        case function(String)
        /// This type has one more attribute than the functions know, as between two steps of an upgrade.
        case type(String)

        private func change(_ verb: String, _ tables: [String], _ word: String) -> String {
            "\(verb) INSERT ON \(tables.map { "carillon.\($0)" }.joined(separator: ", ")) \(word) carillon_worker"
        }

        var begin: String {
            switch self {
            case .rights(let tables): change("REVOKE", tables, "FROM")
            case .trigger(let state):
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'permission denied for now' USING ERRCODE = '\(state)'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            case .table(let name): "ALTER TABLE carillon.\(name) RENAME TO hidden"
            case .function(let name): "ALTER FUNCTION carillon.\(name) RENAME TO hidden"
            case .type(let name): "ALTER TYPE carillon.\(name) ADD ATTRIBUTE later text"
            }
        }

        var end: String {
            switch self {
            case .rights(let tables): change("GRANT", tables, "TO")
            case .trigger: "DROP TRIGGER refuse ON carillon.inflight"
            case .table(let name): "ALTER TABLE carillon.hidden RENAME TO \(name)"
            case .function(let name): "ALTER FUNCTION carillon.hidden RENAME TO \(name)"
            case .type(let name): "ALTER TYPE carillon.\(name) DROP ATTRIBUTE later"
            }
        }

        /// What a worker logs about it.
        var complaint: String {
            switch self {
            case .rights, .trigger: "permission denied"
            case .table: "SQLSTATE 42P01"
            case .function: "SQLSTATE 42883"
            case .type: "SQLSTATE 42P13"
            }
        }
    }

    /// Expects few errors, of the worker and in PostgreSQL's log, while this is refused for some seconds.
    private static func during(
        _ refusal: Refusal,
        for time: Duration,
        _ worker: WorkerProcess,
        in scene: Scene,
        _ body: () async throws -> Void
    ) async throws {
        try await scene.client.run(refusal.begin)
        let (before, began) = (try await worker.metric("carillon_database_errors_total"), MonotonicInstant.now)
        try await body()
        try await worker.says(refusal.complaint)
        try await scene.livesOn(worker, for: time)
        let errors = try await worker.metric("carillon_database_errors_total") - before
        #expect(errors / (Double((MonotonicInstant.now - began).nanoseconds) / 1e9) <= 20)
        try await scene.client.run(refusal.end)
        let logged = try await TestCluster.errors(of: scene.database)
        #expect(logged.count > 0 && logged.allSatisfy { $0.value.count <= 20 }, "\(logged)")
    }

    @Test(.scene, arguments: [nil, "53100", "P0001"])
    func `D34: claims that are refused are repeated at most 20 times a second, and soon succeed once they may`(
        state: String?
    ) async throws {
        let worker = try await scene.fleet.started()
        let refusal = state.map { Refusal.trigger($0) } ?? .rights(["inflight"])
        try await Self.during(refusal, for: .seconds(4), worker, in: scene) {
            try await scene.enqueue(500)
        }
        try await scene.requests(500, within: Board.sized(.seconds(60), full: .seconds(15)))
        try await scene.finish()
    }

    @Test(arguments: [
        Refusal.rights(["results", "scheduled"]), .table("results"), .function("settle"), .type("ending"),
    ])
    func `D35: without what it needs to record or to retry, pushes stay in flight and none ends for that`(
        refusal: Refusal
    ) async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=429:TooManyRequests*2")] }) { scene in
            let worker = try await scene.fleet.started()
            try await Self.during(refusal, for: .seconds(6), worker, in: scene) {
                try await scene.enqueue(300)
                try await scene.enqueue(100, prefix: "ee")
            }
            try await scene.drained()
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
            #expect(try await worker.metric("carillon_unrecorded_jobs_total") == 0)
            try await scene.finish()
        }
    }
}
