extension PoolState {
    /// What the owner of the sockets must do.
    enum Action {
        /// Make the connection of that number.
        case dial(Int, DialTerms)
        /// That connection takes no more pushes, and closes when it has none.
        case retire(Int, ConnectionEnd)
        /// Close that connection; every push in flight on it ends.
        case end(Int, ConnectionEnd)
        /// That connection is closed: let go of what belonged to it.
        case forget(Int, ConnectionEnd)
        /// End the pushes that wait; no connection takes them.
        case giveUpWaiting(PushError)
        /// Let those go on who wait for a connection.
        case endPreparing
        /// Ask for a provider token, other than that one.
        case fetchToken(refusing: ProviderToken?)
        /// Have every connection use that provider token from now on.
        case authorize(Authorization)
    }
}
