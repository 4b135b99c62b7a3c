import ApplePush

extension PushType {
    /// A push replaces what an earlier one to the same token has shown, so an older one must never arrive after a newer one.
    var isUpdate: Bool { self == .liveActivity || self == .channel }

    /// Apple delivers a few of them an hour to a device, and may drop the rest.
    var isPaced: Bool { self == .background }
}
