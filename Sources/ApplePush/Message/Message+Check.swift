import CarillonPushRules

extension APNs.Message {
    /// Reports at once what APNs would refuse for every device token, or would not deliver. The topic is not checked, because a
    /// bundle ID may itself end like a suffix.
    func check() throws(PushError) {
        if let expiration, expiration < 0 {
            throw PushError(.invalidMessage, "The expiry is before 1970. For “at once or never”, use .once.")
        }
        try pushType.rules?.check(self)
        if payload.hasTwoAPS { throw .apsInExtra }
    }
}

extension PushTypeRules {
    fileprivate func check(_ message: APNs.Message) throws(PushError) {
        if let priority = message.priority, Priorities(Int(priority.rawValue)).map(priorities.contains) != true {
            throw PushError(
                .invalidMessage,
                "Pushes of the type \(name) have the priority \(priorities.text), not \(priority.rawValue)."
                    + (defaultPriority == nil ? "" : " Leave it out.")
            )
        }
        if let collapseID = message.collapseID, collapseID.utf8.count > collapseIDLimit {
            throw PushError(
                .invalidMessage,
                collapseIDLimit == 0
                    ? "A push to a channel has no collapse identifier. Leave it out."
                    : "The collapse identifier has \(collapseID.utf8.count) bytes; APNs accepts \(collapseIDLimit)."
            )
        }
        guard isSilent else { return }
        let aps = message.payload.aps
        for member in [APSMember.alert, .badge, .sound] where aps[member] != nil && aps[member] != .null {
            throw PushError(
                .invalidMessage,
                "A push of the type \(name) has no \(member.rawValue). Leave it out, or use the push type alert."
            )
        }
    }
}
