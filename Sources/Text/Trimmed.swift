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

    /// White space of C: a blank, or an end of a line or page.
    fileprivate var isSpace: Bool { self == UInt8(ascii: " ") || (9...13).contains(self) }
}

extension String {
    /// Without the ASCII white space around it. It looks at each byte once. A step back over a flag, by contrast, counts all
    /// flags before it.
    package var trimmed: String {
        guard let first = utf8.firstIndex(where: { !$0.isSpace }), let last = utf8.lastIndex(where: { !$0.isSpace })
        else { return "" }
        return String(self[first...last])
    }
}
