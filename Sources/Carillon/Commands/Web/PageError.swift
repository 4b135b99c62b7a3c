/// Why there is no page, when the database is not the cause.
struct PageError: Error {
    let status: Int
    let sentence: String
    let hint: String?

    static func notFound(_ sentence: String, hint: String? = nil) -> PageError {
        PageError(status: 404, sentence: sentence, hint: hint)
    }

    static func badRequest(_ sentence: String) -> PageError { PageError(status: 400, sentence: sentence, hint: nil) }
}
