/// Why there is no page, when the database is not the cause.
struct PageError: Error {
    let status: Int
    let sentence: String
    let hint: String?

    static func notFound(_ sentence: String, hint: String? = nil) -> PageError {
        PageError(status: 404, sentence: sentence, hint: hint)
    }

    static func badRequest(_ sentence: String) -> PageError { PageError(status: 400, sentence: sentence, hint: nil) }

    static let mayNotChange = PageError(
        status: 403,
        sentence: "You may read, but not change anything.",
        hint:
            "Log in with the operators' password (--operator-password-file). On the machine itself, --local-changes allows it."
    )
    static let foreignForm = PageError(
        status: 403,
        sentence: "This form was not made for you, or is too old. Nothing was changed.",
        hint: "Load the page again, and send its form."
    )
}
