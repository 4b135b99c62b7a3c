import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Whatever happens between a registration, a 410, a pass and its sudden death: no live token is deleted, and no dead one
/// is kept in the end.
@Suite(.demo) struct ReapPropertyTests {
    /// What Apple and the app know of a token, by the database's clock in microseconds.
    private struct History {
        var registered: Int64?
        var died: Int64?
        var isBusy = false

        /// It is to be there in the end.
        var lives: Bool { registered.map { $0 >= died ?? .min } ?? false }
    }

    /// Shared by all who live through it.
    private final class Book: Sendable {
        private let histories = Guarded([History](repeating: History(), count: ReapPropertyTests.tokens))
        private let end = Guarded(false)

        var isOver: Bool { end.withLock { $0 } }
        func close() { end.withLock { $0 = true } }

        /// Which tokens are to be there in the end.
        var living: [Int] { histories.withLock { all in all.indices.filter { all[$0].lives } } }

        /// False: somebody else is at it.
        func take(_ token: Int) -> Bool {
            histories.withLock { histories in
                defer { histories[token].isBusy = true }
                return !histories[token].isBusy
            }
        }

        func registered(_ token: Int, at time: Int64) {
            histories.withLock { histories in
                histories[token].registered = max(histories[token].registered ?? .min, time)
                histories[token].isBusy = false
            }
        }

        func died(_ token: Int, at time: Int64) {
            histories.withLock { histories in
                histories[token].died = max(histories[token].died ?? .min, time)
                histories[token].isBusy = false
            }
        }
    }

    private static let tokens = 60

    /// The rows of a watched table take long to delete, so that a batch can be killed in its middle.
    private static let setUp = """
        CREATE TABLE devices (token text PRIMARY KEY, seen timestamptz NOT NULL);
        CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM count(*) FROM generate_series(1, 5000);
            RETURN OLD;
        END $$;
        CREATE TRIGGER dawdle BEFORE DELETE ON devices FOR EACH ROW EXECUTE FUNCTION dawdle();
        -- Both answer with the time that counts, in microseconds.
        CREATE FUNCTION enrol(name text) RETURNS bigint LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM carillon.register_token('demo', name);
            INSERT INTO devices VALUES (upper(name), now())
            ON CONFLICT (token) DO UPDATE SET seen = greatest(devices.seen, excluded.seen);
            RETURN extract(epoch FROM now()) * 1000000;
        END $$;
        CREATE FUNCTION bury(name text, ago interval) RETURNS bigint LANGUAGE sql AS $$
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, name, clock_timestamp() - ago)
            RETURNING extract(epoch FROM least(unregistered_at, seen_at)) * 1000000
        $$;
        GRANT SELECT, DELETE ON devices TO carillon_reaper;
        SELECT carillon.watch_tokens('demo', 'devices', 'token', 'seen')
        """

    private static func name(_ token: Int) -> String { "ab" + String(100 + token) + "0" }

    @Test(.timeLimit(.minutes(5)), arguments: [UInt64.random(in: .min ... .max)])
    func `no live token is deleted, and every dead one is`(_ seed: UInt64) async throws {
        try await database.run(Self.setUp)
        let book = Book()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<2 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(number))
                    try await database.session { try await Self.live(book, 300, in: $0, using: &random) }
                }
            }
            for number in 2..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(number))
                    while !book.isOver, !Task.isCancelled { await Self.reap(in: database, using: &random) }
                }
            }
            group.addTask {
                try await database.session { session in
                    while !book.isOver, !Task.isCancelled { try await Self.kill(in: session) }
                }
            }
            try await group.next()
            try await group.next()
            book.close()
            try await group.waitForAll()
        }
        _ = try await database.value("carillon.reap()")
        let expected = book.living.map(Self.name)
        #expect(expected.count > 0 && expected.count < Self.tokens, "seed \(seed)")
        let kept = try await database.rows("SELECT token FROM carillon.tokens ORDER BY 1")
        #expect(kept == expected.map { "(\($0))" }, "seed \(seed)")
        let devices = try await database.rows("SELECT lower(token) FROM devices ORDER BY 1")
        #expect(devices == kept, "seed \(seed)")
        #expect(try await database.value("SELECT last_error FROM carillon.watched_tables") == nil)
    }

    /// Registers tokens and reports them dead, now or long ago; never both of one token at the same moment, whose order
    /// nobody could tell.
    private static func live(
        _ book: Book,
        _ steps: Int,
        in session: TestDatabase,
        using random: inout SeededGenerator
    ) async throws {
        for _ in 0..<steps {
            let token = Int.random(in: 0..<Self.tokens, using: &random)
            guard book.take(token) else { continue }
            if Int.random(in: 0..<5, using: &random) < 3 {
                let time = try await session.value("enrol('\(Self.name(token))')")
                book.registered(token, at: Int64(time ?? "") ?? 0)
            } else {
                let ago = Bool.random(using: &random) ? "0" : "1 hour"
                let time = try await session.value("bury('\(Self.name(token))', '\(ago)')")
                book.died(token, at: Int64(time ?? "") ?? 0)
            }
        }
    }

    /// A pass in small batches, or in one transaction, until it is over or killed.
    private static func reap(in database: TestDatabase, using random: inout SeededGenerator) async {
        let isWhole = Int.random(in: 0..<5, using: &random) == 0
        let most = Int.random(in: 1...20, using: &random)
        try? await database.session { session in
            if isWhole {
                _ = try await session.value("carillon.reap()")
                return
            }
            var place = "NULL"
            while true {
                let step = try await session.rows(
                    "SELECT state, translate(next::text, ',', ' ') FROM carillon.reap_batch(NULL, \(place), \(most))"
                )
                let words = step[0].split { "(),\"".contains($0) }
                if words[0] != "more" { break }
                place = "translate('(\(words[1]))', ' ', ',')::carillon.reap_position"
            }
        }
    }

    private static func kill(in session: TestDatabase) async throws {
        _ = try await session.rows(
            """
            SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.query LIKE '%reap%' AND a.state = 'active'
                AND a.pid <> pg_backend_pid() AND random() < 0.02
            """
        )
    }
}
