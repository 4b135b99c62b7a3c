/// Names and values in the format of forms (`application/x-www-form-urlencoded`).
package enum FormFields {
    static let maxFields = 64

    /// Reads the fields; nil if one is not valid (see `PercentCode`) or there are more than `maxFields`.
    package static func read(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)]? {
        let pairs = bytes.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= maxFields else { return nil }
        var fields: [(name: String, value: String)] = []
        for pair in pairs {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
                part in
                PercentCode.decode(part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
            }
            guard let name = parts[0], let value = parts.count == 2 ? parts[1] : "" else { return nil }
            fields.append((name, value))
        }
        return fields
    }
}
