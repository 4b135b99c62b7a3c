import CarillonIO
import CarillonPostgres
import TestSupport

extension Scene {
    static let chunk = 1000

    private static let insert = """
        INSERT INTO carillon.messages (app_id, tokens, payload, reference, on_unknown)
        SELECT a.id, ARRAY(SELECT $1 || lpad(to_hex(n * 65536 + t), 64 - length($1), '0') FROM generate_series(1, $2::int8) t),
            ('{"aps":{"alert":"Board"},"m":"m' || n || '"' || $7 || '}')::json, 'm' || n, $3
        FROM carillon.apps a, generate_series($4::int8, $5::int8) n WHERE a.name = $6
        """

    /// Enqueues messages, and records them in the ledger once they are committed. Their device tokens have the prefix, for the
    /// answer rules of the simulator. A transaction has `atOnce` of them. Padding makes their payloads longer.
    func enqueue(
        _ count: Int,
        tokens width: Int = 1,
        prefix: String = "",
        app: String = Scene.app,
        mayRepeat: Bool = true,
        padding: Int = 0,
        atOnce chunk: Int = Self.chunk
    ) async throws {
        let more = padding == 0 ? "" : ",\"x\":\"\(String(repeating: "x", count: padding))\""
        precondition(width < 65_536, "the numbers of tokens would overlap")
        var left = count
        while left > 0 {
            let numbers = self.numbers.take(min(left, chunk))
            left -= numbers.count
            let messages = Self.messages(numbers, width: width, prefix: prefix, mayRepeat: mayRepeat, more: more)
            let parameters = Self.parameters(
                numbers,
                width: width,
                prefix: prefix,
                app: app,
                mayRepeat: mayRepeat,
                more: more
            )
            do {
                try await client.query(Self.insert, parameters) { _ in }
            } catch let error as PostgresError where error.effect == .unknown {
                ledger.unsure(messages)
                throw error
            }
            ledger.committed(messages)
        }
    }

    /// Enqueues messages in an open transaction. The caller commits, and then records them in the ledger.
    func enqueue(_ count: Int, on session: PostgresConnection) async throws -> [Ledger.Message] {
        let numbers = self.numbers.take(count)
        let parameters = Self.parameters(numbers, width: 1, prefix: "", app: Self.app, mayRepeat: true)
        try await session.execute(Statement("enqueue", Self.insert), parameters)
        return Self.messages(numbers, width: 1, prefix: "", mayRepeat: true)
    }

    private static func messages(
        _ numbers: Range<Int>,
        width: Int,
        prefix: String,
        mayRepeat: Bool,
        more: String = ""
    ) -> [Ledger.Message] {
        numbers.map { number in
            Ledger.Message(
                reference: "m\(number)",
                tokens: (1...width).map { Self.token(prefix, number * 65_536 + $0) },
                payload: #"{"aps":{"alert":"Board"},"m":"m\#(number)"\#(more)}"#,
                mayRepeat: mayRepeat
            )
        }
    }

    private static func parameters(
        _ numbers: Range<Int>,
        width: Int,
        prefix: String,
        app: String,
        mayRepeat: Bool,
        more: String = ""
    ) -> Parameters {
        Parameters(
            prefix,
            Int64(width),
            mayRepeat ? "retry" : "fail",
            Int64(numbers.lowerBound),
            Int64(numbers.upperBound - 1),
            app,
            more
        )
    }

    /// Enqueues for as long as the body runs, whenever fewer jobs than `depth` wait.
    func underLoad<R>(depth: Int = 2000, padding: Int = 0, _ body: () async throws -> R) async throws -> R {
        let load = Task {
            while !Task.isCancelled {
                // The case's fault may affect this too: the next attempt will succeed.
                try? await eventually("there is room for more") {
                    let waiting = try? await client.number("SELECT count(*) FROM carillon.messages")
                    guard let waiting, waiting < depth else { return false }
                    try? await enqueue(min(500, depth), padding: padding)
                    return false
                }
            }
        }
        return try await attempt(body) {
            load.cancel()
            await load.value
        }
    }

    static func token(_ prefix: String, _ number: Int) -> String {
        let digits = String(number, radix: 16)
        return prefix + String(repeating: "0", count: 64 - prefix.utf8.count - digits.utf8.count) + digits
    }
}
