/// The app's own part of a payload, from JSON and from a value of the app.
enum UserData {
    static func members(
        of value: (any Encodable)?,
        beside extra: [String: APNs.JSON]
    ) throws(PushError) -> [String: APNs.JSON] {
        guard let value else { return extra }
        let members: [String: APNs.JSON]
        switch try APNs.JSON(encoding: value) {
        case .object(let object): members = object
        // The value was a nested optional that is nil.
        case .null: return extra
        default:
            throw PushError(
                .invalidMessage,
                "“userData” must encode to a JSON object, as a struct or a dictionary does: \(type(of: value)) does not."
            )
        }
        guard members["aps"] == nil else {
            throw PushError(.invalidMessage, "“userData” may not contain “aps”: pass its members as “aps”.")
        }
        var merged = extra
        for (name, value) in members {
            guard merged.updateValue(value, forKey: name) == nil else {
                throw PushError(
                    .invalidMessage,
                    "“userData” and “extra” both contain “\(name)”: give each name in one of them."
                )
            }
        }
        return merged
    }
}
