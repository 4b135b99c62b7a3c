import IO

/// The provider token that connections are made with.
struct Authorization {
    let token: ProviderToken
    /// The gateway called the one before too old. If it says the same of this one, that is its last word for a while.
    let isRenewed: Bool
    let since: MonotonicInstant
}
