package import ApplePush

extension HTTP2Configuration {
    /// Time limits for the slowest machine.
    package static let longTimeouts: Self = {
        var configuration = Self()
        configuration.connectTimeout = .seconds(60)
        configuration.handshakeTimeout = .seconds(60)
        configuration.settingsTimeout = .seconds(60)
        configuration.acknowledgementTimeout = .seconds(60)
        configuration.pingTimeout = .seconds(60)
        configuration.writeTimeout = .seconds(60)
        configuration.starvationTimeout = .seconds(60)
        configuration.requestTimeout = .seconds(60)
        configuration.totalTimeout = .seconds(300)
        return configuration
    }()
}
