/// Names and values in the format of forms (`application/x-www-form-urlencoded`).
package enum FormFields {
    /// Reads the fields; nil if they are not valid or there are more than `limit`.
    package static func read(_ bytes: [UInt8], limit: Int = 64) -> [(name: String, value: String)]? {
        let pairs = String(decoding: bytes, as: UTF8.self).split(separator: "&")
        guard pairs.count <= limit else { return nil }
        var fields: [(name: String, value: String)] = []
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                PercentCode.decode($0.replacing("+", with: " "))
            }
            guard let name = parts[0], let value = parts.count == 2 ? parts[1] : "" else { return nil }
            fields.append((name, value))
        }
        return fields
    }
}
