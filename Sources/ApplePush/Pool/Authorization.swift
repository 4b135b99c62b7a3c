import CarillonIO

/// The provider token that pushes carry.
struct Authorization {
    let token: ProviderToken
    /// Whether it replaced a token that the gateway refused as too old. If the gateway refuses this one too, the push is not sent
    /// again.
    let isRenewed: Bool
    let since: MonotonicInstant
}
