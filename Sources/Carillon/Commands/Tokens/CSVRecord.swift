import CarillonText

/// A record of a CSV file: its fields, without quotes.
struct CSVRecord {
    /// The number of its first line, from 1.
    private(set) var line = 0
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    subscript(field: Int) -> ArraySlice<UInt8> { bytes[(field == 0 ? 0 : ends[field - 1])..<ends[field]] }

    /// Empty, or only separators, as spreadsheets write at the end.
    var isBlank: Bool { bytes.allSatisfy(\.isBlank) }

    mutating func begin(line: Int) {
        self.line = line
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    mutating func append(_ part: ArraySlice<UInt8>) { bytes.append(contentsOf: part) }

    mutating func endField() { ends.append(bytes.count) }
}
