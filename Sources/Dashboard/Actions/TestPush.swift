import CarillonText
import CarillonWeb

/// The fields of the form for a test push.
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
    /// The whole payload, instead of the fields above.
    var payload: String?
    /// A form that is sent twice has the same key, and enqueues once.
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
