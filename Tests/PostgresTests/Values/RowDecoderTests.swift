import CarillonPostgres
import TestSupport
import Testing

@Suite struct RowDecoderTests {
    private enum Color: String, Decodable {
        case red
    }

    private struct Sums: Decodable, Sendable {
        let sent: Int
        let failed: Int16
    }

    private struct Example: Decodable, Sendable {
        let failedAt: Int64
        let isPaused: Bool
        let apnsID: String
        let gatewayCA: String
        let reference: String?
        let share: Double
        let color: Color
        let apps: [String]
        let counts: [Int64]
        let sums: Sums
    }

    private func example(_ columns: String) async throws -> [Example] {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.values(of: Statement("example", "SELECT \(columns) FROM generate_series(1, 2)"))
        }
    }

    private static let columns = [
        "failed_at": "'1970-01-01 00:00:01Z'::timestamptz", "paused": "true", "apns_id": "'x'", "gateway_ca": "'y'",
        "reference": "NULL::text",
        "share": "0.5::float8", "color": "'red'", "apps": "'{a,NULL,b}'::text[]", "counts": "'{1,2}'::int8[]",
        "sent": "7::int8",
        "failed": "3::int2",
    ]

    private static func list(_ columns: [String: String]) -> String {
        columns.map { "\($1) AS \($0)" }.joined(separator: ", ")
    }

    @Test func `each property has the value of its column, whatever the order`() async throws {
        let records = try await example(Self.list(Self.columns))
        #expect(records.count == 2)
        for record in records {
            #expect(
                record.failedAt == 1_000_000 && record.isPaused && record.apnsID == "x" && record.gatewayCA == "y"
                    && record.reference == nil
            )
            #expect(
                record.share == 0.5 && record.color == .red && record.apps == ["a", "b"] && record.counts == [1, 2]
            )
            #expect(record.sums.sent == 7 && record.sums.failed == 3)
        }
    }

    @Test(arguments: ["paused", "reference", "apps", "sent"])
    func `a column that is not there is an error that names the property`(column: String) async throws {
        let columns = Self.list(Self.columns.filter { $0.key != column })
        let error = await #expect(throws: PostgresError.self) { _ = try await example(columns) }
        #expect(
            error?.description.lowercased().contains("no column for \(column == "paused" ? "is" : "")\(column)") == true
        )
    }

    @Test(arguments: [("failed", "40000::int8"), ("failed", "NULL::int2"), ("paused", "1")])
    func `a value that does not fit is an error`(column: String, value: String) async throws {
        let columns = Self.list(Self.columns.merging([column: value]) { $1 })
        await #expect(throws: (any Error).self) { _ = try await example(columns) }
    }

    @Test func `a text outside a closed set is an error that names the property and the text`() async throws {
        let columns = Self.list(Self.columns.merging(["color": "'blue'"]) { $1 })
        let error = await #expect(throws: PostgresError.self) { _ = try await example(columns) }
        #expect(error?.message.contains("color") == true && error?.message.contains("blue") == true, "\(error as Any)")
    }

    @Test func `a single value is the first column`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let names: [String] = try await connection.values(
                of: Statement("names", "SELECT 'a', 1 UNION SELECT 'b', 2")
            )
            #expect(names.sorted() == ["a", "b"])
        }
    }
}
