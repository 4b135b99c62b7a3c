/// The members of the `aps` object that a message has as named fields.
enum APSMember: String {
    case alert, badge, sound, category
    case contentAvailable = "content-available"
    case mutableContent = "mutable-content"
    case threadID = "thread-id"
    case interruptionLevel = "interruption-level"
    case relevanceScore = "relevance-score"
    case targetContentID = "target-content-id"
    case filterCriteria = "filter-criteria"
    case staleDate = "stale-date"
}

extension [String: APNs.JSON] {
    subscript(member: APSMember) -> APNs.JSON? {
        get { self[member.rawValue] }
        set { self[member.rawValue] = newValue }
    }

    /// Sets a member, if there is a value.
    mutating func add(_ value: APNs.JSON?, as member: APSMember) {
        if let value { self[member] = value }
    }
}
