import CarillonPostgres
import TestSupport
import Testing

@Suite struct ArrayTests {
    @Test func `nulls and empty texts keep their places`() async throws {
        let echo = Statement("echo texts", "SELECT $1::text[], cardinality($1), $1[2] IS NULL, $1[3] = ''")
        try await TestDatabase.connected(.nothing) { connection, _ in
            var texts = PostgresArray(of: .text)
            texts.append("a\"b{},\\")
            texts.appendNull()
            texts.append("")
            texts.append("ü")
            let parameters = Parameters(texts)
            let answer = try await connection.query(echo, parameters) { rows in
                try (rows.strings(0, 0), rows.int64(0, 1), rows.bool(0, 2), rows.bool(0, 3))
            }
            #expect(answer.0 == ["a\"b{},\\", nil, "", "ü"])
            #expect(answer.1 == 4 && answer.2 && answer.3)
        }
    }

    @Test func `an empty array is empty`() async throws {
        let echo = Statement("echo empty", "SELECT $1::int8[], cardinality($1)")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters(PostgresArray(of: .int8))
            let answer = try await connection.query(echo, parameters) { rows in
                try (rows.strings(0, 0).count, rows.int64(0, 1))
            }
            #expect(answer == (0, 0))
        }
    }

    @Test func `the elements of all dimensions come one after the other`() async throws {
        let nested = Statement("nested", "SELECT '{{a,b},{c,NULL}}'::text[]")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let answer = try await connection.query(nested) { rows in try rows.strings(0, 0) }
            #expect(answer == ["a", "b", "c", nil])
        }
    }

    @Test func `arrays of every type are what the server expects`() async throws {
        let check = Statement(
            "check arrays",
            """
            SELECT $1 = ARRAY[true, false], $2 = ARRAY[1, -1]::int2[], $3 = ARRAY[2, -2]::int4[], $4 = ARRAY[3, -3]::int8[],
                $5 = ARRAY[0.5]::float8[], $6 = ARRAY['2000-01-01 00:00Z'::timestamptz],
                $7 = ARRAY['00000000-0000-0001-0000-000000000002'::uuid], $8[1]::text = '{"a":1}', $9 = ARRAY['[1]'::jsonb],
                $10 = ARRAY['\\x00ff'::bytea]
            """
        )
        try await TestDatabase.connected(.nothing) { connection, _ in
            var parameters = Parameters()
            var booleans = PostgresArray(of: .bool)
            booleans.append(true)
            booleans.append(false)
            parameters.append(booleans)
            parameters.append(PostgresArray([1, -1] as [Int16]))
            parameters.append(PostgresArray([2, -2] as [Int32]))
            parameters.append(PostgresArray([3, -3] as [Int64]))
            var doubles = PostgresArray(of: .float8)
            doubles.append(0.5)
            parameters.append(doubles)
            var timestamps = PostgresArray(of: .timestamptz)
            timestamps.append(Moment(946_684_800_000_000))
            parameters.append(timestamps)
            var uuids = PostgresArray(of: .uuid)
            uuids.append(PostgresUUID(high: 1, low: 2))
            parameters.append(uuids)
            var documents = PostgresArray(of: .json)
            documents.append(#"{"a":1}"#)
            parameters.append(documents)
            var binaries = PostgresArray(of: .jsonb)
            binaries.append("[1]")
            parameters.append(binaries)
            var bytes = PostgresArray(of: .bytea)
            let raw: [UInt8] = [0, 255]
            bytes.append(raw.span.bytes)
            parameters.append(bytes)
            let answers = try await connection.query(check, parameters) { rows in
                try (0..<rows.columnCount).map { try rows.bool(0, .index($0)) }
            }
            #expect(answers == Array(repeating: true, count: 10))
        }
    }

    @Test func `integers and times that are written at once are what the server expects`() async throws {
        let check = Statement(
            "check columns",
            """
            SELECT $1 = ARRAY[3, -3, 9223372036854775807], $2 = ARRAY['2000-01-01 00:00Z', 'infinity', '-infinity']::timestamptz[],
                $3 = '{}'::int8[], $4 = '{}'::timestamptz[]
            """
        )
        try await TestDatabase.connected(.nothing) { connection, _ in
            let parameters = Parameters(
                PostgresArray(integers: [3, -3, .max]),
                PostgresArray(times: [946_684_800_000_000, .max, .min]),
                PostgresArray(integers: []),
                PostgresArray(times: [])
            )
            let answers = try await connection.query(check, parameters) { rows in
                try (0..<rows.columnCount).map { try rows.bool(0, .index($0)) }
            }
            #expect(answers == [true, true, true, true])
        }
    }

    @Test func `ten thousand rows go in one statement and come back in one`() async throws {
        let write = Statement(
            "write rows",
            """
            INSERT INTO rows (id, name, at, note)
            SELECT * FROM UNNEST($1::int8[], $2::text[], $3::timestamptz[], $4::text[])
            """
        )
        let read = Statement("read rows", "SELECT id, name, at, note FROM rows ORDER BY id")
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE rows (id int8 PRIMARY KEY, name text, at timestamptz, note text)")
            for round in 0..<2 {
                var ids = PostgresArray(of: .int8)
                var names = PostgresArray(of: .text)
                var times = PostgresArray(of: .timestamptz)
                var notes = PostgresArray(of: .text)
                for row in (round * 10_000)..<((round + 1) * 10_000) {
                    ids.append(Int64(row))
                    names.append("row \(row)")
                    times.append(Moment(seconds: Int64(row)))
                    if row.isMultiple(of: 3) {
                        notes.appendNull()
                    } else {
                        notes.append(String(repeating: "n", count: row % 50))
                    }
                }
                var parameters = Parameters()
                for column in [ids, names, times, notes] { parameters.append(column) }
                #expect(try await connection.execute(write, parameters) == 10_000)
            }
            let wrong = try await connection.query(read) { rows in
                try rows.indices.filter { row in
                    let name = try rows.string(row, 1)
                    let note = try rows.stringIfPresent(row, 3)
                    let expected = row.isMultiple(of: 3) ? nil : String(repeating: "n", count: row % 50)
                    return try rows.int64(row, 0) != Int64(row) || name != "row \(row)"
                        || rows.moment(row, 2) != Moment(seconds: Int64(row)) || note != expected
                } + [rows.count]
            }
            #expect(wrong == [20_000])
        }
    }

    @Test func `sixteen megabytes pass both ways`() async throws {
        let echo = Statement("echo large", "SELECT $1::text")
        try await TestDatabase.connected(.nothing) { connection, _ in
            let large = String(repeating: "0123456789abcdef", count: 1 << 20)
            let parameters = Parameters(large)
            let lengths = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        try await connection.query(echo, parameters) { rows in try rows.withBytes(0, 0) { $0.byteCount }
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(lengths == Array(repeating: 16 << 20, count: 3))
        }
    }
}
