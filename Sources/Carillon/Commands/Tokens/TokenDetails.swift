/// What a registration says about a token, besides its owner and its kind. PostgreSQL checks it.
struct TokenDetails: Sendable, Equatable {
    /// The columns of a file, and of the table. Attributes may be about the owner.
    static let names = ["environment", "activity_type", "time_zone", "locale", "attributes"]

    /// The number of the line in the file.
    let line: Int32
    /// Where each is in the texts of a batch, in the order of the names.
    private(set) var texts: [Range<Int32>?]

    init(line: Int32, texts: [Range<Int32>?] = names.map { _ in nil }) {
        self.line = line
        self.texts = texts
    }

    /// Takes what it lacks from an older line of the same token.
    mutating func fill(from older: TokenDetails, ofSameOwner isSameOwner: Bool) {
        for (place, name) in Self.names.enumerated() where isSameOwner || name != "attributes" {
            texts[place] = texts[place] ?? older.texts[place]
        }
    }
}
