import CarillonIO

/// The provider token that pushes carry.
struct Authorization {
    let token: ProviderToken
    /// It replaced one that the gateway called too old. If the gateway says the same of this one, the push is not sent again.
    let isRenewed: Bool
    let since: MonotonicInstant
}
