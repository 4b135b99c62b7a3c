import CarillonPushRules

extension PushType {
    /// An Apple push type that this library does not know yet. Equal arguments make equal types.
    ///
    /// - Parameters:
    ///   - name: The value of the header `apns-push-type`: at most 64 lower-case letters, digits and hyphens.
    ///   - topicSuffix: The suffix that its topics append to the app's bundle ID, such as `.push-type.widgets`. Without one, give
    ///     each message its whole topic.
    ///   - payloadLimit: The largest payload that APNs accepts, in bytes.
    ///   - defaultPriority: The priority of messages that do not set one; nil for Apple's default.
    /// - Throws: A `PushError` if a header cannot contain the name or the suffix.
    public init(
        custom name: String,
        topicSuffix: String = "",
        payloadLimit: Int = 4096,
        defaultPriority: APNs.Priority? = nil
    ) throws(PushError) {
        guard PushTypeRules.isName(Array(name.utf8).span) else {
            throw PushError(
                .invalidMessage,
                "The name of a push type is 1 to 64 lower-case letters, digits and hyphens, as in alert."
            )
        }
        guard topicSuffix.isEmpty || topicSuffix.first == "." && topicSuffix.utf8.count <= 128,
            topicSuffix.utf8.allSatisfy(Self.isVisible)
        else {
            throw PushError(
                .invalidMessage,
                "The topic suffix of a push type is a dot and up to 127 visible ASCII characters, as in .voip, or empty."
            )
        }
        guard payloadLimit > 0 else {
            throw PushError(.invalidMessage, "The payload limit of a push type is a positive number of bytes.")
        }
        let row = Facts(name: name, suffix: topicSuffix, payloadLimit: payloadLimit, priority: defaultPriority)
        if Self.table.contains(row), let type = Self(name: name) {
            self = type
        } else {
            self.init(custom: row)
        }
    }

    private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }
}
