import ApplePushSimulator

/// All that the simulator has received of one push, by its device token.
struct Sightings {
    private(set) var accepted = 0
    /// The answers other than 200, as "410 Unregistered".
    private(set) var refusals: [String] = []
    /// Requests without an answer.
    private(set) var unanswered = 0
    let first: ReceivedRequest

    var requests: Int { accepted + refusals.count + unanswered }

    /// How a later request differs from the first.
    private(set) var difference: String?

    mutating func add(_ delivery: ReceivedRequest) {
        switch delivery.status {
        case 200: accepted += 1
        case nil: unanswered += 1
        case .some(let status): refusals.append("\(status) \(delivery.reason ?? "")")
        }
        if difference == nil { difference = Self.difference(of: delivery, from: first) }
    }

    private static func difference(of one: ReceivedRequest, from other: ReceivedRequest) -> String? {
        if one.hasIdentity, one.apnsID != other.apnsID { return "apns-id \(one.apnsID) and \(other.apnsID)" }
        if one.payload != other.payload { return "another body" }
        if one.topic != other.topic { return "another topic" }
        if one.pushType != other.pushType || one.priority != other.priority { return "another push type or priority" }
        if one.expiration != other.expiration { return "another expiration" }
        // With collapse_unknown, a push gets its identity as collapse id when it is sent again.
        let isCollapsed = other.collapseID == nil && one.collapseID == one.apnsID
        if one.collapseID != other.collapseID, !isCollapsed { return "another collapse id" }
        return nil
    }

    /// By token.
    static func sorted(_ deliveries: [ReceivedRequest]) -> [String: Sightings] {
        var sightings: [String: Sightings] = [:]
        for delivery in deliveries {
            sightings[delivery.token, default: Sightings(nothingOf: delivery)].add(delivery)
        }
        return sightings
    }

    private init(nothingOf delivery: ReceivedRequest) {
        first = delivery
    }
}

extension ReceivedRequest {
    /// A notification of the binary protocol has a number of its connection instead.
    var hasIdentity: Bool { Int(apnsID) == nil }
}
