import CarillonPostgres
import TestSupport
import Testing

@Suite struct ValueTests {
    @Test func `every type comes back unchanged`() async throws {
        let all = Statement(
            "all types",
            "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::timestamptz, $7::uuid, $8::text, $9::json"
        )
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters(
                true,
                Int16(-2),
                Int32.min,
                Int64.max,
                -0.25,
                Moment(1_700_000_000_123_456),
                PostgresUUID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210),
                "Grüße 🔔",
                #"{ "a" : 1 }"#
            )
            let numbers = try await connection.query(all, parameters) { rows in
                try (rows.bool(0, 0), rows.int16(0, 1), rows.int32(0, 2), rows.int64(0, 3), rows.double(0, 4))
            }
            #expect(numbers == (true, -2, .min, .max, -0.25))
            let others = try await connection.query(all, parameters) { rows in
                let uuid = try rows.uuid(0, 6)
                return try (rows.moment(0, 5), uuid.high, uuid.low, rows.string(0, 7), rows.string(0, 8))
            }
            #expect(others.0 == Moment(1_700_000_000_123_456))
            #expect(others.1 == 0x0123_4567_89ab_cdef && others.2 == 0xfedc_ba98_7654_3210)
            #expect(others.3 == "Grüße 🔔")
            #expect(others.4 == #"{ "a" : 1 }"#)
        }
    }

    @Test func `a column is used if it has a value in any row`() async throws {
        let values = "(VALUES (NULL::int8, NULL::text, 1), (NULL, '', 2)) AS v(nowhere, somewhere, everywhere)"
        let two = Statement("two rows", "SELECT * FROM \(values)")
        let none = Statement("no rows", "SELECT * FROM \(values) WHERE everywhere = 3")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let used = try await connection.query(two) { rows in
                try [
                    rows.positionIfUsed(of: "nowhere"), rows.positionIfUsed(of: "somewhere"),
                    rows.positionIfUsed(of: "everywhere"),
                ]
                .map { $0 != nil }
            }
            #expect(used == [false, true, true])
            let usedOfNone = try await connection.query(none) { rows in try rows.positionIfUsed(of: "everywhere") != nil
            }
            #expect(!usedOfNone)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query(two) { rows in try rows.positionIfUsed(of: "elsewhere") != nil }
            }
            #expect(error?.code == .unexpectedValue)
        }
    }

    @Test func `a null of every type is a null`() async throws {
        let nulls = Statement("nulls", "SELECT $1, $2, $3, $4, $5, $6, $7, $8")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters(
                nil as Bool?,
                nil as Int16?,
                nil as Int32?,
                nil as Int64?,
                nil as Double?,
                nil as Moment?,
                nil as PostgresUUID?,
                nil as String?
            )
            let areNull = try await connection.query(nulls, parameters) { rows in
                try (0..<rows.columnCount).map { try rows.isNull(0, .index($0)) }
            }
            #expect(areNull == Array(repeating: true, count: 8))
            let value = try await connection.query(nulls, parameters) { rows in
                try (rows.int64IfPresent(0, 3), rows.stringIfPresent(0, 7), rows.momentIfPresent(0, 5))
            }
            #expect(value == (nil, nil, nil))
        }
    }

    @Test func `an empty text is not a null`() async throws {
        let echo = Statement("echo", "SELECT $1::text, $1 IS NULL")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters("")
            let answer = try await connection.query(echo, parameters) { rows in
                try (rows.isNull(0, 0), rows.string(0, 0), rows.bool(0, 1))
            }
            #expect(answer == (false, "", false))
        }
    }

    @Test func `text and json pass through as bytes`() async throws {
        let echo = Statement("echo bytes", "SELECT $1[1], $2[1], $3[1] = '{\"b\": 2}'")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let json = Array(#"{"b":2}"#.utf8)
            let bytes: [UInt8] = [0, 1, 254, 255]
            var parameters = Parameters()
            for (type, value) in [(PostgresType.json, json), (.bytea, bytes), (.jsonb, json)] {
                var array = PostgresArray(of: type)
                array.append(value.span.bytes)
                parameters.append(array)
            }
            let answer = try await connection.query(echo, parameters) { rows in
                try (
                    rows.withBytes(0, 0) { span in span.withUnsafeBytes { Array($0) } },
                    rows.withBytes(0, 1) { span in span.withUnsafeBytes { Array($0) } },
                    rows.bool(0, 2)
                )
            }
            #expect(answer == (json, bytes, true))
        }
    }

    @Test func `the infinities stay what they are`() async throws {
        let echo = Statement("infinities", "SELECT $1 = 'infinity', $2 = '-infinity', $1::timestamptz, $2::timestamptz")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters(Moment.infinity, Moment(.min))
            let answer = try await connection.query(echo, parameters) { rows in
                try (rows.bool(0, 0), rows.bool(0, 1), rows.moment(0, 2), rows.moment(0, 3))
            }
            #expect(answer == (true, true, .infinity, Moment(.min)))
        }
    }

    @Test(arguments: [
        ("SELECT null::int8", "null"), ("SELECT 'x'::text", "type"), ("SELECT 1.5::numeric", "type"),
        ("SELECT ARRAY[1]", "type"),
    ])
    func `a value that is no integer is an error and not a crash`(sql: String, word: String) async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query(Statement("wrong", sql)) { rows in try rows.int64(0, 0) }
            }
            #expect(error?.code == .unexpectedValue)
            #expect(error?.message.contains(word) == true)
            #expect(await connection.isClosed == false)
        }
    }

    @Test func `values are read by the names of their columns, in whatever order those stand`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            for (number, columns) in ["7 AS a, 'x' AS b, true AS c", "true AS c, NULL::text AS d, 'x' AS b, 7 AS a"]
                .enumerated()
            {
                let statement = Statement("named \(number)", "SELECT \(columns)")
                let values = try await connection.query(statement) { rows in
                    try (rows.int64(0, "a"), rows.string(0, "b"), rows.bool(0, "c"))
                }
                #expect(values == (7, "x", true))
            }
            let error = await #expect(throws: PostgresError.self) {
                try await connection.query(Statement("named 0", "SELECT 7 AS a, 'x' AS b, true AS c")) { rows in
                    try rows.stringIfPresent(0, "d")
                }
            }
            #expect(error?.code == .unexpectedValue && error?.message.contains("no column named d") == true)
        }
    }

    @Test func `integers of every width are integers`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let widths = Statement("widths", "SELECT (-2)::int2, (-3)::int4, (-4)::int8")
            let values = try await connection.query(widths) { rows in
                try (rows.int64(0, 0), rows.int64(0, 1), rows.int64(0, 2), rows.int32(0, 0))
            }
            #expect(values == (-2, -3, -4, -2))
        }
    }

    @Test func `a position in the log is written as PostgreSQL does`() {
        func text(_ flushed: Int64) -> String { WALPosition(cluster: 1, timeline: 1, flushed: flushed).text }
        #expect(text(0x16_B374_D848) == "16/B374D848")
        #expect(text(0x0300_0120) == "0/3000120")
    }
}
