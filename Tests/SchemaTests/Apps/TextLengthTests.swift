import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// How long texts may be. Workers read all that operators write again whenever one of them changes.
@Suite(.demo) struct TextLengthTests {
    private static let certificates = [
        ("name", 255), ("certificate", 65_536), ("private_key", 65_536), ("passphrase", 4_096), ("key_id", 64),
        ("team_id", 64),
    ]
    private static let apps = [("name", 255), ("gateway_ca", 262_144), ("paused_reason", 4096)]
    private static let tokens = [("owner", 2048)]
    private static let messages = [
        ("reference", 1024), ("push_type", 255), ("collapse_id", 255), ("topic", 255), ("on_unknown", 255),
    ]
    private static let dedupe = [("key", 1000)]

    /// These have no limit in the table: they are checked when the row is claimed.
    private static let checkedAtTheClaim = ["(messages.payload)", "(messages.payloads)", "(messages.tokens)"]

    @Test func `every text of applications has a limit in its table, except tokens and payloads`() async throws {
        let unlimited = try await database.rows(
            """
            SELECT c.relname || '.' || a.attname AS name FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND a.attlen = -1
                AND (has_column_privilege('carillon_app', c.oid, a.attnum, 'INSERT, UPDATE')
                    OR has_column_privilege('carillon_tenant', c.oid, a.attnum, 'INSERT, UPDATE'))
                AND NOT EXISTS (
                    SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c'
                    AND pg_get_constraintdef(k.oid)
                        ~ format('length[(][(]?%1$s([)]::text)?[)] <= [0-9]+|[(]%1$s = ANY [(]ARRAY|'
                            || '[(]%1$s COLLATE "C"[)]* ~ .*[{]1,64[}][$]', a.attname))
            ORDER BY 1
            """
        )
        #expect(unlimited == Self.checkedAtTheClaim)
    }

    @Test func `a text is stored up to its limit, and one byte more violates a constraint whose name says the limit`()
        async throws
    {
        try await database.run(
            """
            UPDATE carillon.certificates SET private_key = 'k', key_id = 'k', team_id = 't';
            UPDATE carillon.apps SET gateway = 'localhost:1'
            """
        )
        for (table, columns) in [("certificates", Self.certificates), ("apps", Self.apps)] {
            for (column, limit) in columns {
                // Two bytes a character: the limit is in bytes.
                let text = "repeat('é', \(limit / 2)) || repeat('x', \(limit % 2))"
                try await database.run("UPDATE carillon.\(table) SET \(column) = \(text)")
                let error = await database.refusal(
                    of: "UPDATE carillon.\(table) SET \(column) = \(text) || 'x'",
                    "\(table).\(column)"
                )
                let constraint = error?.constraint ?? ""
                #expect(error?.sqlState == "23514")
                #expect(constraint.hasPrefix("\(table)_\(column)_is_") && constraint.hasSuffix("_at_most"))
                #expect(SettingsError(try #require(error)).message.contains(" at most"), "\(constraint)")
            }
        }
    }

    @Test func `the texts of messages, tokens and dedupe keys have a limit, even in a plain INSERT`() async throws {
        let rows = [
            ("messages", "app_id, tokens, payload", "1, '{aa}', '{}'", Self.messages),
            ("scheduled", "app_id, id, tokens, payload, run_at", "1, 1, '{aa}', '{}', now()", Self.messages),
            ("tokens", "app_id, token", "1, 'aa'", Self.tokens),
            ("dedupe", "app_id, message_id, until", "1, 1, now()", Self.dedupe),
        ]
        for (table, columns, values, texts) in rows {
            for (column, limit) in texts {
                let insert = "INSERT INTO carillon.\(table) (\(columns), \(column)) VALUES (\(values), "
                let text = "repeat('é', \(limit / 2)) || repeat('x', \(limit % 2))"
                try await database.run("\(insert)\(text)); DELETE FROM carillon.\(table)")
                let error = await database.refusal(of: "\(insert)\(text) || 'x')", "\(table).\(column)")
                #expect(error?.sqlState == "23514")
                #expect(error?.constraint?.hasSuffix("_\(column)_is_\(limit)_bytes_at_most") == true)
            }
        }
    }

    @Test
    func `a pause takes a reason of a thousand characters in any script, and refuses a longer one`() async throws {
        let error = await database.refusal(of: "SELECT carillon.pause_app('demo', repeat('🔔', 1001))")
        #expect(
            error?.message
                == #"argument "reason" takes text of at most 1000 characters, got one of 1001 characters"#
        )
        #expect(try await database.value("carillon.pause_app('demo', repeat('🔔', 1000))") == "true")
        #expect(try await database.value("SELECT length(paused_reason) FROM carillon.apps") == "1000")
    }

    @Test func `what audit records of a change has a limit, however long the arguments are`() async throws {
        try await database.run(
            """
            SET carillon.on_behalf_of = 'ann'; SET ROLE carillon_app;
            SELECT carillon.subscribe('demo', 'c', array_fill('failed'::text, '{100000}') || '{sent}'::text[]);
            RESET ROLE;
            SELECT carillon.add_webhook('w', 'demo', 'https://example.com/', array_fill('sent'::text, '{100000}'))
            """
        )
        #expect(
            try await database.rows("SELECT details ->> 'kinds' FROM carillon.audit ORDER BY id DESC LIMIT 2")
                == [#"("[""sent""]")"#, #"("[""sent"", ""failed""]")"#]
        )
        let error = await database.refusal(
            of: "SELECT carillon.record_change('test', 'demo', jsonb_build_object('text', repeat('x', 262144)))"
        )
        #expect(error?.constraint == "audit_details_is_256_kb_at_most")
    }

    @Test func `a gateway is no longer than a host name and a port can be`() async throws {
        for column in ["gateway", "feedback_gateway"] {
            let error = await database.refusal(of: "UPDATE carillon.apps SET \(column) = repeat('a', 299) || ':1'")
            #expect(error?.constraint == "apps_\(column)_is_300_bytes_at_most")
        }
    }
}
