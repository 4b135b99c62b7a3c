import TestSupport
import Testing

/// The functions of `enqueue.sql`, which only pass on their arguments, by number, as a row. `make docs` writes those
/// that have nearly the arguments of another one.
@Suite struct VariantTests {
    private struct Variant {
        /// The comment above it.
        let comment: String
        /// The name of the function that it is written from, which is the first of that name.
        let base: String
        /// What differs, with arguments by their names. The text that is replaced stands once in that function.
        let changes: [(String, String)]
    }

    private static let page = GeneratedPage("migrations/functions/enqueue/enqueue.sql")

    /// In the order of the file.
    private static let variants = [
        Variant(comment: "enqueue with an alert as JSON.", base: "enqueue", changes: jsonAlert),
        Variant(
            comment: "enqueue with a payload for each token.",
            base: "enqueue",
            changes: [
                ("tokens text[],", "tokens text[], payloads anycompatiblearray,"),
                ("payload anycompatible", "payload text"),
                (
                    "payload::pg_catalog.text, CASE WHEN payload IS NOT NULL THEN pg_catalog.pg_typeof(payload) END",
                    "payload, NULL"
                ),
                ("stale_date, NULL, NULL", "stale_date, payloads::pg_catalog.text[], pg_catalog.pg_typeof(payloads)"),
            ]
        ),
        Variant(
            comment: "broadcast with an alert as text.",
            base: "enqueue",
            changes: [
                ("carillon.enqueue(", "carillon.broadcast("), ("tokens text[], ", ""),
                (
                    " ) RETURNS",
                    ", kind text = NULL, where_attributes jsonb = NULL, locales text[] = NULL, activity_type text = NULL, run_at_local text = NULL, time_zone text = NULL ) RETURNS"
                ), ("app, tokens,", "app, NULL,"),
                (
                    "false, NULL)",
                    "true, ROW(kind, where_attributes, locales, activity_type, NULL, run_at_local, time_zone))"
                ),
            ]
        ),
        Variant(comment: "broadcast with an alert as JSON.", base: "broadcast", changes: jsonAlert),
        Variant(
            comment: "start_activity with JSON.",
            base: "start_activity",
            changes: [
                ("attributes text, content_state text", "attributes anyelement, content_state anyelement"),
                jsonState(after: "'start'"),
                ("attributes_type, attributes,", "attributes_type, pg_catalog.to_jsonb(attributes)::pg_catalog.text,"),
            ]
        ),
        Variant(
            comment: "update_activity with JSON.",
            base: "update_activity",
            changes: [("content_state text", "content_state anyelement"), jsonState(after: "'update'")]
        ),
        Variant(
            comment: "end_activity with JSON.",
            base: "end_activity",
            changes: [("content_state text = NULL", "content_state anyelement"), jsonState(after: "'end'")]
        ),
        Variant(
            comment: "publish with JSON.",
            base: "publish",
            changes: [("content_state text = NULL", "content_state anyelement"), jsonState(after: "channel")]
        ),
    ]

    private static let jsonAlert = [
        ("alert text = NULL", "alert anyelement"), ("alert, NULL,", "NULL, pg_catalog.to_jsonb(alert),"),
    ]

    private static func jsonState(after value: String) -> (String, String) {
        ("\(value), content_state,", "\(value), pg_catalog.to_jsonb(content_state)::pg_catalog.text,")
    }

    /// The first function of a name, in one line, and with its arguments by their names.
    private static func function(_ name: String) throws -> String {
        let text = try page.text
        let start = try #require(text.firstRange(of: "CREATE OR REPLACE FUNCTION carillon.\(name)(")).lowerBound
        let end = try #require(text[start...].firstRange(of: "\n$$;")).lowerBound
        let line = text[start..<end].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let names = try Parts(line).names
        return line.replacing(#/\$[0-9]+/#) { match -> String in
            let number = Int(match.output.dropFirst()) ?? 0
            return names.indices.contains(number - 1) ? names[number - 1] : String(match.output)
        }
    }

    private struct Parts {
        let start: String
        let arguments: [String]
        let middle: String
        let body: String

        init(_ function: String) throws {
            let match = try #require(function.wholeMatch(of: #/(.*?\() (.*?) (\) RETURNS .*? AS \$\$) (.*)/#))
            start = String(match.output.1)
            arguments = match.output.2.split(separator: ", ").map { String($0) }
            middle = String(match.output.3)
            body = String(match.output.4)
        }

        var names: [String] { arguments.map { argument in String(argument.prefix { $0 != " " }) } }
    }

    /// The function as it is written, with its arguments by their numbers.
    private static func lines(_ function: String) throws -> [String] {
        let parts = try Parts(function)
        let names = parts.names
        let body = parts.body.replacing(#/[a-z_]+/#) { match -> String in
            let word = String(match.output)
            return names.firstIndex(of: word).map { "$\($0 + 1)" } ?? word
        }
        var lines = [parts.start]
        lines += SQLList.lines(parts.arguments, indent: 4)
        lines.append(parts.middle)
        lines += SQLList.lines(body.split(separator: ", ").map { String($0) }, indent: 4, more: 4)
        return lines
    }

    @Test func `a variant is another function with a few changes`() throws {
        for variant in Self.variants {
            var function = try Self.function(variant.base)
            for (old, new) in variant.changes {
                #expect(function.ranges(of: old).count == 1, "\(variant.comment) \(old)")
                function = function.replacing(old, with: new)
            }
            try Self.page.expect(Self.lines(function), after: "-- \(variant.comment)", before: "\n$$;")
        }
    }

    /// Every value of the rows that these functions make, and every argument.
    private static let functions = """
        (VALUES ('enqueue', 'message_arguments'), ('broadcast', 'message_arguments'), ('start_activity', 'activity_arguments'),
            ('update_activity', 'activity_arguments'), ('end_activity', 'activity_arguments'), ('publish', 'publication'),
            ('start_media', 'media_arguments'), ('update_media', 'media_arguments'), ('end_media', 'media_arguments')
        ) AS f(name, type) JOIN pg_proc p ON p.proname = f.name AND p.pronamespace = 'carillon'::regnamespace
        """

    @Test(.demo) func `each field of a row gets the argument of its name`() async throws {
        let values = #"""
            FROM \#(Self.functions) CROSS JOIN LATERAL
                regexp_split_to_table(substring(p.prosrc FROM 'ROW\((.*?)(?:\), (?:true|false), .*)?\)\s*$'), ',\s+') WITH ORDINALITY AS v(value, place)
            JOIN pg_attribute t ON t.attrelid = ('carillon.' || f.type)::regclass AND t.attnum = v.place
            WHERE v.value ~ '^\$[0-9]+\)*$'
            """#
        let strays = try await database.rows(
            """
            SELECT p.oid::regprocedure::text, t.attname, p.proargnames[substring(v.value FROM '[0-9]+')::integer] \(values)
                AND p.proargnames[substring(v.value FROM '[0-9]+')::integer] <> t.attname
                AND t.attname NOT IN ('state_text', 'attributes_text')
            """
        )
        #expect(strays == [])
        #expect(try await database.number("SELECT count(*) \(values)") > 300)
    }

    @Test(.demo) func `each argument is in the row`() async throws {
        let forgotten = try await database.rows(
            #"""
            SELECT p.oid::regprocedure::text, a.name FROM \#(Self.functions)
            CROSS JOIN LATERAL unnest(p.proargnames) WITH ORDINALITY AS a(name, place)
            WHERE p.prosrc !~ ('\$' || a.place || '\M')
            """#
        )
        #expect(forgotten == [])
    }
}
