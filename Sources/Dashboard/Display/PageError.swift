import CarillonPostgres
import CarillonText

/// Why a page cannot be shown for a reason other than the state of the database.
struct PageError: Error {
    let status: Int
    let sentence: String
    let hint: String?

    var text: String { hint.map { "\(sentence) \($0)" } ?? sentence }

    static func notFound(_ sentence: String, hint: String? = nil) -> PageError {
        PageError(status: 404, sentence: sentence, hint: hint)
    }

    static func badRequest(_ sentence: String, hint: String? = nil) -> PageError {
        PageError(status: 400, sentence: sentence, hint: hint)
    }

    static func mayNotChange(_ viewer: Viewer) -> PageError {
        PageError(status: 403, sentence: "You may read but not change anything.", hint: viewer.wayToChange)
    }

    static let notForm = PageError(
        status: 415,
        sentence: "The body must contain the fields of a form.",
        hint: "Send 'Content-Type: application/x-www-form-urlencoded'."
    )

    static let foreignForm = PageError(
        status: 403,
        sentence: "This form is too old, or was made for somebody else. Nothing was changed.",
        hint: "Reload the page and submit its form."
    )
}

extension PageError {
    /// What a function of the schema said about an argument; nil if the error says nothing about the request.
    init?(_ error: any Error) {
        if let error = error as? PageError {
            self = error
        } else if let error = error as? PostgresError, let state = error.statementState,
            state == SQLState.undefinedObject || SQLState.badArgument.contains(state)
        {
            let status = state == SQLState.undefinedObject ? 404 : 400
            self.init(status: status, sentence: error.message.asSentence, hint: error.hint?.asSentence)
        } else {
            return nil
        }
    }
}
