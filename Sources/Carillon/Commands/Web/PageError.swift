/// Why there is no page, when the database is not the cause.
struct PageError: Error {
    let status: Int
    let sentence: String
    let hint: String?

    static func notFound(_ sentence: String, hint: String? = nil) -> PageError {
        PageError(status: 404, sentence: sentence, hint: hint)
    }

    static func badRequest(_ sentence: String) -> PageError { PageError(status: 400, sentence: sentence, hint: nil) }

    static func mayNotChange(_ viewer: Viewer) -> PageError {
        PageError(status: 403, sentence: "You may read, but not change anything.", hint: viewer.wayToChange)
    }

    static let foreignForm = PageError(
        status: 403,
        sentence: "This form was not made for you, or is too old. Nothing was changed.",
        hint: "Load the page again, and send its form."
    )
}
