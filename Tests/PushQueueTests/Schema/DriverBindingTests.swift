import Postgres
import Testing

/// One function takes what each driver binds. Drivers say the types of parameters, or leave them to the server; what they
/// say is prepared here with just those types. `make interop` runs the drivers themselves.
@Suite struct DriverBindingTests {
    struct Driver: Sendable, CustomTestStringConvertible {
        let name: String
        /// What it calls a string, an array of strings, JSON, and a small number; "unknown" leaves it to the server.
        let text: String
        let texts: String
        let json: [String]
        let number: [String]

        var testDescription: String { self.name }
    }

    private static let drivers = [
        Driver(
            name: "psycopg 3",
            text: "unknown",
            texts: "text[]",
            json: ["unknown", "json", "jsonb"],
            number: ["smallint", "integer", "bigint"]
        ),
        Driver(
            name: "psycopg2, node-postgres, lib/pq, asyncpg and pgx",
            text: "unknown",
            texts: "unknown",
            json: ["unknown"],
            number: ["unknown"]
        ),
        Driver(
            name: "pg8000",
            text: "text",
            texts: "text[]",
            json: ["text", "jsonb", "json"],
            number: ["smallint", "integer", "bigint"]
        ),
        Driver(
            name: "JDBC",
            text: "varchar",
            texts: "varchar[]",
            json: ["varchar", "unknown", "json", "jsonb"],
            number: ["smallint", "integer", "bigint"]
        ),
        Driver(
            name: "SQLAlchemy, which casts what it binds",
            text: "varchar",
            texts: "varchar[]",
            json: ["varchar", "json", "jsonb"],
            number: ["integer", "bigint"]
        ),
    ]

    @Test(arguments: Self.drivers)
    func `a driver finds enqueue, whatever it binds`(_ driver: Driver) async throws {
        try await SchemaDatabase.with { database async throws in
            for number in driver.number {
                let tail = "\(number), \(number), \(number)"
                let last = "badge => $4, priority => $5, lane => $6"
                try await database.run(
                    """
                    PREPARE plain (\(driver.text), \(driver.texts), \(driver.text), \(tail)) AS
                    SELECT carillon.enqueue(app => $1, tokens => $2, alert => $3, \(last));
                    EXECUTE plain ('demo', '{ab}', 'Hello', 3, 5, 0)
                    """
                )
                for json in driver.json {
                    try await database.run(
                        """
                        PREPARE json_alert (\(driver.text), \(driver.texts), \(json), \(tail)) AS
                        SELECT carillon.enqueue(app => $1, tokens => $2, alert => $3, \(last));
                        EXECUTE json_alert ('demo', '{ab}', '{"body":"Hello"}', 3, 5, 0);
                        DEALLOCATE json_alert
                        """
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
                try await database.run("DEALLOCATE plain; DELETE FROM carillon.messages")
            }
            for json in driver.json {
                try await database.run(
                    """
                    PREPARE whole (\(driver.text), \(driver.texts), \(json)) AS
                    SELECT carillon.enqueue(app => $1, tokens => $2, payload => $3);
                    EXECUTE whole ('demo', '{ab}', '{"aps":{"alert":"Hello"}}');
                    DEALLOCATE whole
                    """
                )
            }
            #expect(
                try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                    == [#"("{""aps"":{""alert"":""Hello""}}")"#]
            )
        }
    }

    @Test(arguments: Self.drivers)
    func `a driver finds broadcast, whatever it binds`(_ driver: Driver) async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run("INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ab')")
            for json in driver.json {
                for argument in ["alert", "payload"] {
                    try await database.run(
                        """
                        PREPARE everyone (\(driver.text), \(json)) AS
                        SELECT carillon.broadcast(app => $1, \(argument) => $2);
                        EXECUTE everyone ('demo', '\(argument == "alert" ? #"{"body":"x"}"# : #"{"aps":{"alert":{"body":"x"}}}"#)');
                        DEALLOCATE everyone
                        """
                    )
                }
            }
            #expect(
                try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                    == [#"("{""aps"":{""alert"":{""body"":""x""}}}")"#]
            )
        }
    }

    /// What wrappers do that always bind everything.
    @Test(arguments: Self.drivers)
    func `null is null in whatever type it is bound`(_ driver: Driver) async throws {
        try await SchemaDatabase.with { database async throws in
            for alert in [driver.text] + driver.json {
                for payload in [driver.text] + driver.json {
                    let number = driver.number[0]
                    let call = """
                        PREPARE everything (\(driver.text), \(driver.texts), \(alert), \(payload), \(number), \(driver.text)) AS
                        SELECT carillon.enqueue(app => $1, tokens => $2, alert => $3, payload => $4, badge => $5, sound => $6,
                            reference => 'x')
                        """
                    try await database.run(
                        """
                        \(call);
                        EXECUTE everything ('demo', '{ab}', '{"body":"x"}', NULL, NULL, NULL);
                        EXECUTE everything ('demo', '{ab}', NULL, '{"aps":{"alert":{"body":"x"}}}', NULL, NULL);
                        DEALLOCATE everything
                        """
                    )
                }
            }
            #expect(
                try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                    == [#"("{""aps"":{""alert"":{""body"":""x""}}}")"#]
            )
        }
    }

    @Test func `parameters without a type are what their arguments are`() async throws {
        try await SchemaDatabase.with { database async throws in
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
}
