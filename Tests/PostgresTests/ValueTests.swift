import Postgres
import TestSupport
import Testing

@Suite struct `Values to the server and back` {
    @Test func `every type comes back as it went`() async throws {
        let all = Statement(
            "all types",
            "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::timestamptz, $7::uuid, $8::text, $9::json::text"
        )
        try await TestDatabase.connected { connection, _ in
            var parameters = Parameters()
            parameters.append(true)
            parameters.append(Int16(-2))
            parameters.append(Int32.min)
            parameters.append(Int64.max)
            parameters.append(-0.25)
            parameters.append(timestamp: 1_700_000_000_123_456)
            parameters.append(uuid: (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210))
            parameters.append("Grüße 🔔")
            parameters.append(json: #"{ "a" : 1 }"#)
            let numbers = try await connection.query(all, parameters) { rows in
                try (rows.bool(0, 0), rows.int16(0, 1), rows.int32(0, 2), rows.int64(0, 3), rows.double(0, 4))
            }
            #expect(numbers == (true, -2, .min, .max, -0.25))
            let others = try await connection.query(all, parameters) { rows in
                try (
                    rows.timestamp(0, 5), rows.uuid(0, 6).high, rows.uuid(0, 6).low, rows.string(0, 7),
                    rows.string(0, 8)
                )
            }
            #expect(others.0 == 1_700_000_000_123_456)
            #expect(others.1 == 0x0123_4567_89ab_cdef && others.2 == 0xfedc_ba98_7654_3210)
            #expect(others.3 == "Grüße 🔔")
            #expect(others.4 == #"{ "a" : 1 }"#)
        }
    }

    @Test func `a database runs`() async throws {
        try await TestDatabase.connected { connection, _ in
            let one = Statement("one", "SELECT 1::int4, null::int4")
            let value = try await connection.query(one) { rows in try rows.int32(0, 0) }
            #expect(value == 1)
        }
    }
}
