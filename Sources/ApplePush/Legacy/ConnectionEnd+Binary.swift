/// The ends that only the binary protocol has.
extension ConnectionEnd {
    static let refusedPush = Self("refused_push", .usedUp, "the gateway refused a push on it")
    static let gatewayShutDown = Self("gateway_shutdown", .goodbye, "the gateway shut down")
    /// A barrier was sent, after which the gateway accepts nothing more.
    static let barrier = Self("barrier", .usedUp, "the gateway was asked how far it had come")
    static let notBinary = Self("not_binary", .fault, "the peer does not speak the binary protocol", code: .unreachable)
}
