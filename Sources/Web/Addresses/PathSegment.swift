import CarillonText

/// A part of a path between two slashes, which may be any text.
///
/// Browsers and proxies resolve `.` and `..`, even when they are percent-encoded, and merge empty parts. Such a text is therefore
/// written with a leading tilde, and so is a text that itself begins with a tilde.
enum PathSegment {
    static func write(_ text: String) -> String {
        let needsMark = text.hasPrefix("~") || text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
        return (needsMark ? "~" : "") + text.percentEncoded()
    }

    /// Nil if it is not valid.
    static func read(_ segment: some Collection<UInt8>) -> String? {
        guard let text = PercentCode.decode(segment) else { return nil }
        return text.hasPrefix("~") ? String(text.dropFirst()) : text
    }
}
