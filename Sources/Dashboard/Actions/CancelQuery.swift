import CarillonSchema
import CarillonWeb

/// Reads what would be cancelled, for the confirmation page.
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
