/// A file is none that tokens can be read from.
struct TokenFileError: Error, Equatable {
    /// The end of a sentence that begins with the file.
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
