extension APNs {
    /// How much a notification disturbs. Apple may add levels: `InterruptionLevel(rawValue:)` takes any name.
    public struct InterruptionLevel: RawRepresentable, Hashable, Sendable, Codable {
        /// Apple's name of the level.
        public var rawValue: String

        /// The level of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Adds the notification to the list without lighting up the screen or playing a sound.
        public static let passive = Self(rawValue: "passive")
        /// Lights up the screen and may play a sound. This is Apple's default.
        public static let active = Self(rawValue: "active")
        /// Like `active`, but shown at once, even when other notifications wait for a summary or the end of a Focus.
        public static let timeSensitive = Self(rawValue: "time-sensitive")
        /// Like `timeSensitive`, but audible even when the device is muted. The app needs Apple's entitlement.
        public static let critical = Self(rawValue: "critical")
    }
}
