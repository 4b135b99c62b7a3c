import ApplePush

/// Which jobs are refused before they are sent. PostgreSQL ensures that the payload is JSON and text is UTF-8; everything else
/// that a plain INSERT may contain is checked here.
enum JobRules {
    /// Why nothing of the job can be sent, whatever its payload is.
    static func refusal(
        topic: RawSpan,
        topicIsAllowed: Bool,
        collapseID: RawSpan,
        priority: Int16?,
        pushType: PushType?,
        onUnknown: String?
    ) -> LocalReason? {
        guard let pushType else { return .unknownPushType }
        // Null is the default, retry.
        guard onUnknown == nil || onUnknown == "fail" else { return .malformedOnUnknown }
        if !isTopic(topic) { return .malformedTopic }
        if !topicIsAllowed { return .topicNotAllowed }
        if !isCollapseID(collapseID, of: pushType) { return .malformedCollapseID }
        if let priority, !pushType.allows(priority: priority) { return .unknownPriority }
        return nil
    }

    /// Why a payload cannot be sent.
    static func refusal(of payload: RawSpan, _ pushType: PushType) -> LocalReason? {
        let growth = pushType.isUpdate && SendingTime.isAsked(in: payload) ? SendingTime.growth : 0
        if payload.byteCount + growth > pushType.payloadLimit { return .payloadTooLarge }
        return isObject(payload) ? nil : .malformedPayload
    }

    static func isObject(_ json: RawSpan) -> Bool {
        for offset in json.byteOffsets {
            switch json[byte: offset] {
            case 0x20, 0x09, 0x0a, 0x0d: continue
            case UInt8(ascii: "{"): return true
            default: return false
            }
        }
        return false
    }

    /// With an empty topic, the certificate decides.
    static func isTopic(_ topic: RawSpan) -> Bool {
        topic.byteCount <= 255 && topic.isWithin(0x21...0x7e)
    }

    static func isCollapseID(_ collapseID: RawSpan, of pushType: PushType) -> Bool {
        guard collapseID.byteCount > 0 else { return true }
        return collapseID.byteCount <= pushType.collapseIDLimit && collapseID.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            && collapseID[byte: 0] != 0x20 && collapseID[byte: collapseID.byteCount - 1] != 0x20
    }
}
