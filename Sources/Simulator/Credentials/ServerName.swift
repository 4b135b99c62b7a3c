import Glibc

/// What a server's certificate may be for.
enum ServerName {
    private static let limit = 253

    /// Whether it is a host name, perhaps with `*` as its first part, or an address in figures.
    static func isValid(_ name: String) -> Bool {
        var address = in6_addr()
        if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 { return true }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let isLong = name.utf8.count > limit
        return !isLong && labels.enumerated().allSatisfy { isLabel($1) || $0 == 0 && $1 == "*" && labels.count > 1 }
    }

    private static func isLabel(_ text: Substring) -> Bool {
        let isEdge = text.hasPrefix("-") || text.hasSuffix("-")
        return (1...63).contains(text.utf8.count) && !isEdge
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}
