import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Cancels what is left of a message or broadcast.
struct CancelAction {
    private static let cancel = Statement("web_cancel", "SELECT carillon.cancel_message($1, app => $2, actor => $3)")

    let database: WebDatabase

    init(_ database: WebDatabase) { self.database = database }

    func run(_ request: Request, _ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let id = try MessageQuery.id(request)
        guard let app = form["app"] else { throw PageError.badRequest("Name the app of the message.") }
        let query = MessageQuery(database: database, tokens: TokenDisplay(isWhole: false), id: id, app: app)
        let link = Link("messages", String(id), query: ["app": app])
        // It may have ended since the person was asked: then nothing is recorded as cancelled. One that this look does not find, a
        // retry behind a long queue, may wait none the less.
        let known = try await query.messagesIfAny()
        if !known.isEmpty, known.allSatisfy({ $0.waiting == 0 }) { return .done(link, Notice(.cancelled, count: 0)) }
        do {
            let jobs = try await database.change(Self.cancel, Parameters(id, app, viewer.name)) { rows in
                try rows.int64(0, 0)
            }
            if jobs == 0, known.isEmpty { _ = try await query.messages() }  // which says that there is none
            return .done(link, Notice(.cancelled, count: jobs))
        } catch let error as PostgresError where error.sqlState == SQLState.undefinedObject {
            throw PageError.notFound("There is no app \(app).", hint: error.hint?.asSentence)
        }
    }
}

/// What would be cancelled, so that a person can confirm it.
struct CancelQuery {
    private let query: MessageQuery

    init(database: WebDatabase, _ request: Request) throws {
        query = try MessageQuery(database: database, tokens: TokenDisplay(isWhole: false), request)
    }

    func run() async throws -> any PageView {
        let messages = try await query.messages()
        if messages.count > 1 { return MessageChoiceView(id: query.id, apps: messages.map(\.app)) }
        return CancelView(message: messages[0])
    }
}

struct CancelView: PageView {
    let message: MessageProgress

    var title: String { "Cancel message \(message.id)" }
    var section: PageSection { .broadcasts }
    var refreshInterval: Int? { nil }

    private var link: Link { Link("messages", String(message.id), query: ["app": message.app]) }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if message.waiting == 0 {
            HTML(.p, .class("notice")) { "It has ended (\(message.counts)): nothing is left to cancel." }
        } else {
            HTML(.p) {
                "\(Counted.text(Int64(message.waiting), "push", "pushes")) of \(Int(message.tokens).grouped) "
                    + "\(message.waiting == 1 ? "has" : "have") not ended. If you cancel, jobs that no worker has claimed are not sent. What is in flight may arrive, "
                    + "and is not retried."
            }
            if viewer.mayChange, let app = message.app {
                ActionForm.html(Link("messages", String(message.id), "cancel"), viewer, hidden: ["app": app]) {
                    ActionForm.button("Cancel what is left", isDangerous: true)
                }
            } else if !viewer.mayChange {
                HTML(.p, .class("note")) { viewer.wayToChange }
            }
        }
        HTML(.p) { HTML(.a, .href(link)) { "Back to the message" } }
    }

    var json: JSONValue { ["id": message.id, "app": message.app, "waiting": message.waiting, "state": message.state] }
}
