import CarillonText

/// The positions of the columns in a record.
struct TokenColumns: Equatable {
    let token: Int
    let lastUpdate: Int?
    let owner: Int?
    let kind: Int?
    /// In the order of `TokenDetails.names`; empty if there are none.
    let details: [Int?]
    /// How many fields a record has.
    let count: ClosedRange<Int>
    /// Columns that are ignored.
    let others: [String]

    private static let names = ["token", "last_update", "owner", "kind"] + TokenDetails.names

    /// For a file without a header.
    static let usual = TokenColumns(token: 0, lastUpdate: 1, owner: 2, kind: nil, details: [], count: 1...3, others: [])

    private static func isName(_ word: String) -> Bool {
        guard let first = word.unicodeScalars.first, first.properties.isAlphabetic || first == "_" else { return false }
        return word.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0 == "_" || $0 == " " || $0 == "-" || ("0"..."9").contains($0)
        }
    }
}

extension TokenColumns {
    /// Reads the header; nil if the first record is not one.
    init?(header record: CSVRecord) throws(CSVFileError) {
        let words = (0..<record.count).map { String(decoding: record[$0].trimmed, as: UTF8.self) }
        let columns = words.map { $0.lowercased() }
        for name in Self.names where columns.count(where: { $0 == name }) > 1 {
            throw CSVFileError("its header names the column '\(name)' twice.")
        }
        guard let token = columns.firstIndex(of: "token") else {
            var digits: [UInt8] = []
            let isToken = TokenText.read(record[0], into: &digits) == nil
            guard columns.count > 1, columns.allSatisfy(Self.isName), !isToken else { return nil }
            throw CSVFileError(
                "its header has no column 'token', only: \(words.joined(separator: ", ")). The columns that are read are "
                    + Self.names.joined(separator: ", ") + "."
            )
        }
        self.init(
            token: token,
            lastUpdate: columns.firstIndex(of: "last_update"),
            owner: columns.firstIndex(of: "owner"),
            kind: columns.firstIndex(of: "kind"),
            details: TokenDetails.names.contains(where: columns.contains)
                ? TokenDetails.names.map { columns.firstIndex(of: $0) } : [],
            count: columns.count...columns.count,
            others: zip(words, columns).filter { !Self.names.contains($1) }.map { $0.0 }
        )
    }
}
