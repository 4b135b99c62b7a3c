import CarillonPostgres
import CarillonText

extension Command {
    static let forget = Command(
        "forget",
        roles: ["carillon_app"],
        summary: "Erase a person: their device tokens, waiting pushes, and what history says about both.",
        discussion: """
            Says what is erased, and asks first, unless --yes is given. Erases the person in one app: call it for each. Pushes
            in flight may still arrive; they are not retried, and nothing of them is recorded but counts. Call it before the
            tokens are unregistered: it finds them by their owner. docs/privacy.md says what each table holds, and what is not
            erased: your own tables, copies and logs.
            """,
        arguments: [
            Argument("APP", "The app."), Argument("OWNER", "The person, as register_token was given them as owner."),
        ],
        options: [.yes, .json, .database],
        exits: [.done: "Something was erased.", .failed: "Nothing of the owner was found."],
        examples: ["carillon forget acme user-42"],
        run: { invocation in
            let parameters = Parameters(invocation.arguments[0], invocation.arguments[1])
            let (erased, others) = try await DatabaseScope.with(invocation) {
                connection,
                _ -> ([ErasedRows], String?) in
                let others: String? = try await connection.query(otherApps, parameters) { rows in
                    try rows.stringIfPresent(0, "apps")
                }
                if !invocation.settings.isOn(.yes) {
                    // Rolled back, so the counts are exact.
                    try await connection.script("BEGIN")
                    let losses: [ErasedRows] = try await connection.values(of: forgetOwner, parameters)
                    try await connection.script("ROLLBACK")
                    if foundNothing(losses) { return (losses, others) }
                    try Confirmation(invocation: invocation).obtain(
                        "Forgetting \(what(invocation)) deletes or changes \(text(losses)). It cannot be undone."
                    )
                }
                let erased: [ErasedRows] = try await connection.values(of: forgetOwner, parameters)
                return (erased, others)
            }
            invocation.show(JSONValue.object(erased.map { ($0.kind, JSONValue.int($0.removed)) })) { console in
                if !foundNothing(erased) { console.print("Forgot \(what(invocation)): \(text(erased)).") }
            }
            if erased.contains(where: { $0.kind == "inflight" && $0.removed > 0 }) {
                invocation.console.note("Pushes in flight may arrive; they are not retried.")
            }
            if let others {
                invocation.console.note("Device tokens of this owner are left in other apps: \(others.visible).")
            }
            if foundNothing(erased) {
                throw CommandError(
                    .failed,
                    "Nothing of \(what(invocation)) was found.",
                    hint: "Device tokens that were unregistered earlier are not found by their owner."
                )
            }
            return .done
        }
    )

    /// How many rows of a table were deleted or changed.
    private struct ErasedRows: Decodable, Sendable {
        let kind: String
        let removed: Int64
    }

    private static let forgetOwner = Statement(
        "forget",
        "SELECT f.kind, f.removed FROM carillon.forget(app => $1, owner => $2) AS f"
    )

    /// The apps that the user may see, with tokens of this owner.
    private static let otherApps = Statement(
        "forget_elsewhere",
        """
        SELECT string_agg(a.name, ', ' ORDER BY a.name) AS apps FROM carillon.apps a
        WHERE a.name <> $1 AND EXISTS (SELECT FROM carillon.tokens t WHERE t.app_id = a.id AND t.owner = $2)
        """
    )

    private static func foundNothing(_ rows: [ErasedRows]) -> Bool { rows.allSatisfy { $0.removed == 0 } }

    private static func what(_ invocation: Invocation) -> String {
        "the owner \(invocation.arguments[1].visible) of \(invocation.arguments[0].visible)"
    }

    /// As in "2 rows of tokens and 1 row of failures".
    private static func text(_ erased: [ErasedRows]) -> String {
        let parts = erased.filter { $0.removed > 0 }.map { rows in
            rows.kind == "inflight"
                ? Counted.text(rows.removed, "push in flight", "pushes in flight")
                : Counted.text(rows.removed, "row") + " of \(rows.kind)"
        }
        return Counted.list(parts)
    }
}
