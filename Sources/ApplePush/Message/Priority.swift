extension APNs {
    /// How urgently a push is delivered: the value of the header `apns-priority`, also written as a number.
    public struct Priority: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByIntegerLiteral {
        /// The value of the header.
        public var rawValue: UInt8

        /// The priority of that value.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The priority of that value.
        public init(integerLiteral value: UInt8) { rawValue = value }

        /// At once: 10. This is Apple's default.
        public static let immediate: Self = 10
        /// When it suits the device's battery: 5.
        public static let conservesPower: Self = 5
        /// Without waking the device: 1.
        public static let low: Self = 1
    }
}
