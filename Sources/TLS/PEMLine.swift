/// A line that opens or closes a block of PEM.
struct PEMLine {
    enum Kind {
        case begin, end
    }

    let kind: Kind
    /// Where its first dash is.
    let start: Int
    /// What stands between the words and the dashes, with its place in the text.
    let label: ArraySlice<UInt8>
}
