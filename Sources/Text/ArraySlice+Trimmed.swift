extension ArraySlice<UInt8> {
    /// Without leading and trailing blanks. Inlined, because an import trims each field of each record.
    @inlinable
    package var trimmed: ArraySlice<UInt8> {
        var slice = self
        while let first = slice.first, first.isBlank { slice.removeFirst() }
        while let last = slice.last, last.isBlank { slice.removeLast() }
        return slice
    }
}

extension UInt8 {
    /// A space or a tab.
    @inlinable
    package var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
