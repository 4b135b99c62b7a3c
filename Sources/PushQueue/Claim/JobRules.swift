import ApplePush

/// Which jobs are refused before they are sent. PostgreSQL ensures that the payload is JSON and text is UTF-8; everything else
/// that a plain INSERT may contain is checked here.
enum JobRules {
    static func refusal(
        payload: RawSpan,
        topic: RawSpan,
        collapseID: RawSpan,
        priority: Int16?,
        pushType: PushType?,
        onUnknown: String?
    ) -> LocalReason? {
        guard let pushType else { return .unknownPushType }
        // Null is the default, retry.
        guard onUnknown == nil || onUnknown == "fail" else { return .malformedOnUnknown }
        if payload.byteCount > pushType.payloadLimit { return .payloadTooLarge }
        if !isObject(payload) { return .malformedPayload }
        if !isTopic(topic) { return .malformedTopic }
        if !isCollapseID(collapseID) { return .malformedCollapseID }
        switch priority {
        case nil, 1, 5, 10: return nil
        default: return .unknownPriority
        }
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
        topic.byteCount <= 255 && topic.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    static func isCollapseID(_ collapseID: RawSpan) -> Bool {
        guard collapseID.byteCount > 0 else { return true }
        return collapseID.byteCount <= 64 && collapseID.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            && collapseID[byte: 0] != 0x20 && collapseID[byte: collapseID.byteCount - 1] != 0x20
    }
}
