struct CSVFileError: Error, Equatable {
    /// Ends a sentence that begins with the name of the file.
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
