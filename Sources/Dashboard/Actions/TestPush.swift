import ApplePush
import CarillonPostgres
import CarillonText
import CarillonWeb

/// A test push as it was typed.
struct TestPush: Sendable {
    var app: String?
    var token: String?
    var title: String?
    var text: String?
    var badge: String?
    var sound: String?
    var pushType: String?
    var priority: String?
    var collapseID: String?
    /// The whole payload, in place of its parts.
    var payload: String?
    /// A form that is sent twice has one key, and enqueues once.
    var key: String?

    init(_ form: Form) {
        app = form["app"]
        token = form["token"]
        title = form.whole("title")
        text = form.whole("text")
        badge = form["badge"]
        sound = form["sound"]
        pushType = form["push_type"]
        priority = form["priority"]
        collapseID = form["collapse_id"]
        payload = form["payload"]
        key = form["key"]
    }

    init(_ request: Request) {
        app = request.parameter("app")
        token = request.parameter("token")
        text = "Hello from Carillon"
    }

    /// The arguments of enqueue.
    var body: JSONValue {
        [
            "tokens": [token ?? ""], "title": title, "body": title == nil ? nil : text,
            "alert": title == nil ? text : nil,
            "badge": badge.map { text in Int64(text).map { JSONValue.int($0) } ?? .string(text) },
            "sound": sound, "push_type": pushType, "priority": priority.flatMap(Int.init), "collapse_id": collapseID,
            "payload": payload,
        ]
    }
}

struct TestPushQuery {
    private static let names = Statement(
        "web_app_names",
        "SELECT a.name FROM carillon.apps a ORDER BY a.name LIMIT 500"
    )

    let database: WebDatabase

    func run(_ request: Request) async throws -> TestPushView {
        TestPushView(push: TestPush(request), apps: try await apps())
    }

    func apps() async throws -> [String] {
        try await database.query(Self.names, Parameters()) { rows in
            try rows.indices.map { try rows.string($0, "name") }
        }
    }
}

/// Shows a test push as it would go out, or enqueues it.
struct TestPushAction {
    private static let preview = Statement(
        "web_preview",
        """
        SELECT p.payload, p.bytes, p.most_bytes, p.push_type, p.priority, p.topic
        FROM carillon.preview_message($1, $2::jsonb) AS p
        """
    )
    private static let send = Statement(
        "web_send_test",
        "SELECT s.id, s.is_new FROM carillon.send_test($1, $2::jsonb, actor => $3, key => $4) AS s"
    )

    let database: WebDatabase

    init(_ database: WebDatabase) { self.database = database }

    func run(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let push = TestPush(form)
        guard let app = push.app else { throw PageError.badRequest("Choose the app.") }
        do {
            if form.isOn("send") {
                let parameters = Parameters(app, push.body.text, viewer.name, push.key)
                return try await database.change(Self.send, parameters) { rows in
                    let link = Link("messages", String(try rows.int64(0, "id")), query: ["app": app])
                    return .done(link, Notice(try rows.bool(0, "is_new") ? .sent : .sentBefore))
                }
            }
            let parameters = Parameters(app, push.body.text)
            let preview = try await database.change(Self.preview, parameters) { rows in
                try TestPushView.Preview(rows, 0)
            }
            return .page(try await view(push, preview, nil))
        } catch let error as PostgresError where Self.isRefusal(error) {
            let refusal = Self.refusal(error)
            return .refused(try await view(push, nil, refusal.text), refusal)
        }
    }

    private static func refusal(_ error: PostgresError) -> PageError {
        error.sqlState == SQLState.duplicateObject
            ? PageError(
                status: 422,
                sentence: "This form was sent before with other values.",
                hint: "Look at them, and send it again."
            )
            : PageError.badRequest(error.message.asSentence, hint: error.hint?.asSentence)
    }

    private static func isRefusal(_ error: PostgresError) -> Bool {
        let state = error.sqlState ?? ""
        return state.hasPrefix("22") || SQLState.badArgument.contains(state)
            || [SQLState.undefinedObject, SQLState.duplicateObject].contains(state)
    }

    private func view(
        _ push: TestPush,
        _ preview: TestPushView.Preview?,
        _ complaint: String?
    ) async throws -> TestPushView {
        let apps = try await TestPushQuery(database: database).apps()
        return TestPushView(push: push, apps: apps, preview: preview, complaint: complaint)
    }
}
