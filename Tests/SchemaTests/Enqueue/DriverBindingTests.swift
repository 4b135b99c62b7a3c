import CarillonPostgres
import TestSupport
import Testing

/// One function accepts the parameters of each driver. Drivers name the types of parameters, or leave them to the
/// server; the statements here are prepared with the same types. `make interop` runs the drivers themselves.
@Suite(.demo) struct DriverBindingTests {
    struct Driver: Sendable, CustomTestStringConvertible {
        let name: String
        /// The types that it binds for a string, an array of strings, JSON and a small number. "unknown" leaves the type to
        /// the server.
        let text, texts: String
        let json, number: [String]

        init(_ name: String, _ text: String, _ texts: String, _ json: [String], _ number: [String]) {
            (self.name, self.text, self.texts, self.json, self.number) = (name, text, texts, json, number)
        }

        var testDescription: String { name }
    }

    private static let drivers = [
        Driver("psycopg 3", "unknown", "text[]", ["unknown", "json", "jsonb"], ["smallint", "integer", "bigint"]),
        Driver("psycopg2, node-postgres, lib/pq, asyncpg and pgx", "unknown", "unknown", ["unknown"], ["unknown"]),
        Driver("pg8000", "text", "text[]", ["text", "jsonb", "json"], ["smallint", "integer", "bigint"]),
        Driver(
            "JDBC",
            "varchar",
            "varchar[]",
            ["varchar", "unknown", "json", "jsonb"],
            ["smallint", "integer", "bigint"]
        ),
        Driver(
            "SQLAlchemy, which casts what it binds",
            "varchar",
            "varchar[]",
            ["varchar", "json", "jsonb"],
            ["integer", "bigint"]
        ),
    ]

    /// Runs a call with parameters of those types, as a driver that names them would; each of the values is a list.
    private func call(_ call: String, _ types: [String], _ values: String..., in database: TestDatabase) async throws {
        let executions = values.map { "EXECUTE bound (\($0));" }.joined(separator: "\n")
        try await database.run(
            "PREPARE bound (\(types.joined(separator: ", "))) AS SELECT \(call);\n\(executions)\nDEALLOCATE bound"
        )
    }

    @Test(arguments: Self.drivers)
    func `a driver finds enqueue with any parameter types`(_ driver: Driver) async throws {
        for number in driver.number {
            let enqueue =
                "carillon.enqueue(app => $1, tokens => $2, alert => $3, badge => $4, priority => $5, lane => $6)"
            let numbers = [number, number, number]
            try await call(
                enqueue,
                [driver.text, driver.texts, driver.text] + numbers,
                "'demo', '{ab}', 'Hello', 3, 5, 0",
                in: database
            )
            for json in driver.json {
                try await call(
                    enqueue,
                    [driver.text, driver.texts, json] + numbers,
                    #"'demo', '{ab}', '{"body":"Hello"}', 3, 5, 0"#,
                    in: database
                )
            }
            let payloads = try await database.rows(
                "SELECT DISTINCT payload::text, priority, lane FROM carillon.messages ORDER BY 1"
            )
            #expect(
                payloads == [
                    #"("{""aps"":{""alert"":""Hello"",""badge"":3}}",5,0)"#,
                    #"("{""aps"":{""alert"":{""body"":""Hello""},""badge"":3}}",5,0)"#,
                ]
            )
            try await database.run("DELETE FROM carillon.messages")
        }
        for json in driver.json {
            try await call(
                "carillon.enqueue(app => $1, tokens => $2, payload => $3)",
                [driver.text, driver.texts, json],
                #"'demo', '{ab}', '{"aps":{"alert":"Hello"}}'"#,
                in: database
            )
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                == [#"("{""aps"":{""alert"":""Hello""}}")"#]
        )
    }

    @Test(arguments: Self.drivers)
    func `a driver finds push with any parameter types`(_ driver: Driver) async throws {
        for json in driver.json {
            try await call(
                "carillon.push($1, $2, $3)",
                [driver.text, driver.texts, json],
                #"'demo', '{ab}', '{"aps":{"alert":{"body":"x"},"badge":3}}'"#,
                in: database
            )
            for number in driver.number {
                try await call(
                    "carillon.push($1, $2, $3, $4, $5)",
                    [driver.text, driver.texts, json, number, driver.text],
                    #"'demo', '{ab}', '{"body":"x"}', 3, NULL"#,
                    in: database
                )
            }
            let list = json == "unknown" ? json : "\(json)[]"
            try await call(
                "carillon.push_each($1, $2, $3)",
                [driver.text, driver.texts, list],
                #"'demo', '{ab}', '{"{\"aps\":{\"alert\":{\"body\":\"x\"},\"badge\":3}}"}'"#,
                in: database
            )
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                == [#"("{""aps"":{""alert"":{""body"":""x""},""badge"":3}}")"#]
        )
    }

    @Test(arguments: Self.drivers)
    func `a driver finds broadcast with any parameter types`(_ driver: Driver) async throws {
        try await database.run("INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ab')")
        for json in driver.json {
            for (argument, value) in [("alert", #"{"body":"x"}"#), ("payload", #"{"aps":{"alert":{"body":"x"}}}"#)] {
                try await call(
                    "carillon.broadcast(app => $1, \(argument) => $2)",
                    [driver.text, json],
                    "'demo', '\(value)'",
                    in: database
                )
            }
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                == [#"("{""aps"":{""alert"":{""body"":""x""}}}")"#]
        )
    }

    @Test(arguments: Self.drivers)
    func `a driver finds the functions of Live Activities with any parameter types`(_ driver: Driver) async throws {
        _ = try await database.value("carillon.record_channel('demo', 'QUJD', 0, 'r')")
        for json in driver.json {
            for alert in [driver.text] + driver.json {
                let types = [driver.text, driver.texts, json, alert]
                let values = #"'demo', '{ab}', '{"a":1}', '{"body":"x"}'"#
                for name in ["update_activity", "end_activity"] {
                    let name = "carillon.\(name)(app => $1, tokens => $2, content_state => $3, alert => $4)"
                    try await call(name, types, values, in: database)
                }
                try await call(
                    "carillon.start_activity($1, $2, 'A', attributes => $3, content_state => $3, alert => $4)",
                    types,
                    values,
                    in: database
                )
                try await call(
                    "carillon.publish($1, 'r', content_state => $2, alert => $3)",
                    [driver.text, json, alert],
                    #"'demo', '{"a":1}', '{"body":"x"}'"#,
                    in: database
                )
            }
        }
        #expect(
            try await database.rows(
                """
                SELECT DISTINCT payload -> 'aps' ->> 'content-state', payload -> 'aps' ->> 'alert',
                    payload -> 'aps' ->> 'attributes' FROM carillon.messages ORDER BY 3
                """
            ) == [#"("{""a"":1}","{""body"":""x""}","{""a"":1}")"#, #"("{""a"":1}","{""body"":""x""}",)"#]
        )
    }

    @Test(arguments: Self.drivers)
    func `a driver finds the functions of media sessions with any parameter types`(_ driver: Driver) async throws {
        for json in driver.json {
            for name in ["start_media", "update_media", "end_media"] {
                try await call(
                    "carillon.\(name)(app => $1, tokens => $2, attributes => $3, priority => $4)",
                    [driver.text, driver.texts, json, driver.number[0]],
                    #"'demo', '{ab}', '{"id":"r"}', 5"#,
                    in: database
                )
            }
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload -> 'aps' ->> 'attributes' FROM carillon.messages")
                == [#"("{""id"":""r""}")"#]
        )
    }

    /// As a wrapper does that binds every argument.
    @Test(arguments: Self.drivers)
    func `null is accepted in any type`(_ driver: Driver) async throws {
        for alert in [driver.text] + driver.json {
            for payload in [driver.text] + driver.json {
                try await call(
                    """
                    carillon.enqueue(app => $1, tokens => $2, alert => $3, payload => $4, badge => $5, sound => $6,
                        reference => 'x')
                    """,
                    [driver.text, driver.texts, alert, payload, driver.number[0], driver.text],
                    #"'demo', '{ab}', '{"body":"x"}', NULL, NULL, NULL"#,
                    #"'demo', '{ab}', NULL, '{"aps":{"alert":{"body":"x"}}}', NULL, NULL"#,
                    in: database
                )
            }
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                == [#"("{""aps"":{""alert"":{""body"":""x""}}}")"#]
        )
    }

    @Test func `parameters without a type take the types of their arguments`() async throws {
        try await database.run(
            """
            PREPARE untyped AS SELECT carillon.enqueue(app => $1, tokens => $2, alert => $3, badge => $4, extra => $5,
                payload => $6, run_at => $7, dedupe_for => $8, strict => $9)
            """
        )
        #expect(
            try await database.value("SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped'")
                == "{text,text[],text,bigint,jsonb,text,\"timestamp with time zone\",interval,boolean}"
        )
    }
}
