import CarillonPostgres
import CarillonWeb
import TestSupport
import Testing

@testable import CarillonDashboard

/// The routes of the API, docs/http.md and the functions that the routes call say the same.
@Suite struct APIPageTests {
    /// The routes call these, and docs/sql.md leaves them out.
    private static let internalFunctions: Set = [
        "acknowledge_events", "list_channels", "list_messages", "list_tokens", "peek_events",
    ]

    private static func row(of route: APIRoute) -> String {
        let name = "`\(route.function)`"
        let function = internalFunctions.contains(route.function) ? name : "[\(name)](sql.md#\(route.function))"
        let fields = (route.parameters.filter { !route.isInPath($0) } + route.members).map { field in
            field.isRequired ? "**`\(field.name)`**" : "`\(field.name)`"
        }
        let path = route.fullPath.replacing("/v1/apps/{app}", with: "")
        let cells = [
            "`\(route.method.rawValue) \(path)`", "`\(route.right.rawValue)`", function,
            fields.joined(separator: ", "), answer(to: route),
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }

    private static func answer(to route: APIRoute) -> String {
        switch route.answer {
        case .message: "`id`, `app`, `is_new`, `see`"
        case .object(let type): names(of: type)
        case .member(let name, _): "`\(name)`"
        case .first: "the message"
        case .nothing: "status 204"
        case .notices: "status 204, or `notices`"
        }
    }

    private static func names(of type: APIType) -> String {
        guard case .record(let members) = type else { return "" }
        return members.map { "`\($0.key)`" }.joined(separator: ", ")
    }

    @Test func `the page lists every route`() throws {
        try GeneratedPage("docs/http.md")
            .expect(APIRoute.all.map(Self.row), after: "| request | right |", before: "\n\n", skipping: 1)
    }

    @Test func `the page lists every status of a refusal`() throws {
        try GeneratedPage("docs/http.md").expect(
            ProblemStatus.allCases.map { "| \($0.rawValue) | \($0.meaning) |" },
            after: "| status | meaning |",
            before: "\n\n",
            skipping: 1
        )
    }

    @Test func `the page, the command and the database know every right`() async throws {
        let page = try GeneratedPage("docs/http.md").text
        for right in APIRoute.Right.allCases { #expect(page.contains("\n| `\(right.rawValue)` | to "), "\(right)") }
        let help = try GeneratedPage("docs/cli.md").text
        let choice = APIRoute.Right.allCases.map(\.rawValue).joined(separator: #"\|"#)
        #expect(help.contains("`--right \(choice)`"))
        try await TestDatabase.with(.schema) { database in
            try await database.run("INSERT INTO carillon.apps (name) VALUES ('a')")
            let error = await database.refusal(of: "SELECT carillon.create_api_token('a', 'x', rights => '{none}')")
            let rights = APIRoute.Right.allCases.map(\.rawValue).joined(separator: ", ")
            #expect(error?.message.contains("takes one or more of \(rights), got") == true, "\(error?.message ?? "")")
        }
    }

    @Test func `a route takes arguments of its function, and all that the function requires`() async throws {
        try await TestDatabase.with(.schema) { database in
            for route in APIRoute.all + [.unversioned] {
                let call = "carillon.callable('\(route.function)') AS c"
                let names = try await database.rows("SELECT unnest(c.names) FROM \(call)")
                let required = try await database.rows("SELECT jsonb_object_keys(c.required) FROM \(call)")
                let taken = (route.parameters.filter { $0.name != APIRoute.wait.name } + route.members).map(\.name)
                #expect(Set(taken).count == taken.count, "\(route.name)")
                #expect(Set(names).isSuperset(of: (taken + ["app"]).map { "(\($0))" }), "\(route.name)")
                #expect(Set(taken.map { "(\($0))" }).isSuperset(of: required), "\(route.name)")
                if route.base.isEmpty { #expect(names.count == taken.count + 1, "an argument of enqueue is missing") }
            }
        }
    }

    @Test func `operations have names of their own`() {
        #expect(Set(APIRoute.all.map(\.name)).count == APIRoute.all.count)
    }

    @Test(arguments: [("get_message", "message_status"), ("trace", "trace"), ("get_events", "take_events")])
    func `an answer has the columns of the function`(name: String, function: String) async throws {
        let route = try #require(APIRoute.all.first { $0.name == name })
        try await TestDatabase.with(.schema) { database in
            let columns = try await database.rows(
                """
                SELECT unnest(coalesce(
                    (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
                    WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped),
                    p.proargnames[p.pronargs + 1:]))
                FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype
                WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = '\(function)'
                """
            )
            var type: APIType? =
                switch route.answer {
                case .first(let type), .object(let type), .member(_, let type): type
                case .message, .nothing, .notices: nil
                }
            if case .record(let members)? = type, members.first?.key == "events" { type = members.first?.value }
            if case .list(let element)? = type { type = element }
            guard case .record(let members)? = type else {
                Issue.record("\(name) returns no rows")
                return
            }
            #expect(members.map { "(\($0.key))" } == columns)
        }
    }
}
