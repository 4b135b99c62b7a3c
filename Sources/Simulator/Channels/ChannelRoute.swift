/// The target of a request about channels: `/4/broadcasts/apps/APP` at the gateway, and `/1/apps/APP/channels` or
/// `/1/apps/APP/all-channels` at the channel service.
struct ChannelRoute {
    private static let broadcastPrefix: StaticString = "/4/broadcasts/apps/"
    private static let appPrefix: StaticString = "/1/apps/"
    private static let channels: StaticString = "/channels"
    private static let allChannels: StaticString = "/all-channels"

    let action: ChannelAction
    /// The range of the bundle ID in the bytes of the request.
    let app: Range<Int>

    /// Nil for other paths, and for methods that the path does not support.
    init?(of head: RequestHead, in bytes: Span<UInt8>, at service: GatewayService) {
        let path = bytes.extracting(head.path.range)
        switch service {
        case .pushes:
            guard path.hasPrefix(Self.broadcastPrefix) else { return nil }
            self.init(.broadcast, head.path.range.dropFirst(Self.broadcastPrefix.utf8CodeUnitCount))
        case .channels:
            guard path.hasPrefix(Self.appPrefix) else { return nil }
            let rest = head.path.range.dropFirst(Self.appPrefix.utf8CodeUnitCount)
            let method = bytes.extracting(head.method.range)
            if path.hasSuffix(Self.allChannels) {
                guard method.equals("GET") else { return nil }
                self.init(.list, rest.dropLast(Self.allChannels.utf8CodeUnitCount))
            } else if path.hasSuffix(Self.channels) {
                guard let action = Self.action(of: method) else { return nil }
                self.init(action, rest.dropLast(Self.channels.utf8CodeUnitCount))
            } else {
                return nil
            }
        }
    }

    private init(_ action: ChannelAction, _ app: Range<Int>) {
        self.action = action
        self.app = app
    }

    private static func action(of method: Span<UInt8>) -> ChannelAction? {
        if method.equals("POST") { return .create }
        if method.equals("GET") { return .read }
        return method.equals("DELETE") ? .remove : nil
    }

    /// The refusal of a request to the channel service that has no route.
    static func refusal(of head: RequestHead, in bytes: Span<UInt8>) -> APNsRefusal {
        let path = bytes.extracting(head.path.range)
        for index in 0..<path.count where path[index] == UInt8(ascii: "?") { return .badRequestParameters }
        let isKnown = path.hasPrefix(appPrefix) && (path.hasSuffix(channels) || path.hasSuffix(allChannels))
        return isKnown ? .methodHasNoChannelAction : .badChannelPath
    }
}
