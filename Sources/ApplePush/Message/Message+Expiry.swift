import FoundationEssentials

extension Message {
    /// Until when Apple keeps trying to reach a device.
    public enum Expiry: Hashable, Sendable {
        /// Only once: what cannot be delivered at once is dropped.
        case once
        /// Until then, in seconds since 1970.
        case at(Int64)
        /// For so long from now on.
        case after(Duration)

        /// The value of the header.
        var seconds: Int64 {
            switch self {
            case .once: 0
            case .at(let seconds): seconds
            case .after(let duration): UnixTime.now() + duration.components.seconds
            }
        }
    }
}
