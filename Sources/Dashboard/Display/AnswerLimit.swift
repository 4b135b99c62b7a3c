/// Callers choose the texts of rows, and can ask for many of them at once.
enum AnswerLimit {
    /// How many bytes of JSON an answer of the API, and the events of a page, have at most.
    static let maxBytes = 1 << 20
}
