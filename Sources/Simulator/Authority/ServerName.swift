import Glibc

/// The names and addresses that a server certificate can have.
enum ServerName {
    private static let limit = 253

    /// Whether it is a host name, perhaps with `*` as its first label, or a numeric address.
    static func isValid(_ name: String) -> Bool {
        var address = in6_addr()
        if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 { return true }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let isLong = name.utf8.count > limit
        return !isLong && labels.enumerated().allSatisfy { isLabel($1) || $0 == 0 && $1 == "*" && labels.count > 1 }
    }

    /// A label consists of the bytes that a topic may have.
    private static func isLabel(_ text: Substring) -> Bool {
        let isEdge = text.hasPrefix("-") || text.hasSuffix("-")
        return text.utf8.count <= 63 && !isEdge && HeaderForm.isTopic(Array(text.utf8).span)
    }
}
