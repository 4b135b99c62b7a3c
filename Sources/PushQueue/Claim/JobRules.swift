import ApplePush

/// What a job must be like to be sent at all. PostgreSQL has seen to it that the payload is JSON and the text UTF-8;
/// everything else an INSERT may say is checked here, once, before the bytes go on their way unchanged.
enum JobRules {
    static func pushType(_ name: RawSpan) -> PushType? {
        // Nearly all are the default, which is a null by the time it gets here.
        var text: [UInt8] = []
        text.append(copying: name)
        return PushType(name: String(decoding: text, as: UTF8.self))
    }

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

    /// Given that it is JSON: whether it is an object.
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

    /// Nothing lets the certificate decide.
    static func isTopic(_ topic: RawSpan) -> Bool {
        topic.byteCount <= 255 && topic.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    static func isCollapseID(_ collapseID: RawSpan) -> Bool {
        guard collapseID.byteCount > 0 else { return true }
        return collapseID.byteCount <= 64 && collapseID.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            && collapseID[byte: 0] != 0x20 && collapseID[byte: collapseID.byteCount - 1] != 0x20
    }
}
