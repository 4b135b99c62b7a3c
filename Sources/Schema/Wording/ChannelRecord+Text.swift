extension ChannelRecord {
    /// What Apple keeps for devices that are offline.
    package var storage: String { policy == 1 ? "the last message" : "nothing" }
}
