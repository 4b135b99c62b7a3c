/// The limits and times by which connections are kept.
public struct HTTP2Configuration: Sendable {
    /// How many connections there may be to one gateway with one credential.
    public var connections = 4
    /// How many threads carry the connections.
    public var threads = 1
    /// How long a connection to one of the server's addresses may take.
    public var connectTimeout: Duration = .seconds(5)
    /// How long the TLS handshake may take.
    public var handshakeTimeout: Duration = .seconds(5)
    /// How long the server may take to name its settings.
    public var settingsTimeout: Duration = .seconds(5)
    /// How long the server may take to acknowledge ours.
    public var acknowledgementTimeout: Duration = .seconds(10)
    /// How long an answer may take from the moment the last byte of the push was written.
    public var requestTimeout: Duration = .seconds(10)
    /// How long a push may take in all, the time that it waits for a connection included, while the gateway answers
    /// nothing. As long as it answers others, a push waits for its turn.
    public var totalTimeout: Duration = .seconds(30)
    /// After how long a silence the server is asked whether it is there.
    public var pingAfter: Duration = .seconds(15)
    /// How long its answer to that may take.
    public var pingTimeout: Duration = .seconds(5)
    /// How long the server may take no bytes.
    public var writeTimeout: Duration = .seconds(10)
    /// How long the server may have no stream for anybody, or open no window for what waits, before another connection is
    /// tried.
    public var starvationTimeout: Duration = .seconds(10)
    /// How old a connection gets at least before another takes its place; at most it gets twice as old.
    public var maximumAge: Duration = .seconds(3600)
    /// How long a connection may be idle before it is closed.
    public var idleTimeout: Duration = .seconds(300)

    /// The values that fit Apple's gateway.
    public init() {}

    /// The times that a connection measures itself.
    var limits: ConnectionLife.Limits {
        ConnectionLife.Limits(
            settings: settingsTimeout,
            acknowledgement: acknowledgementTimeout,
            pingAfter: pingAfter,
            ping: pingTimeout,
            writing: writeTimeout,
            starvation: starvationTimeout,
            age: maximumAge
        )
    }

    /// How long a push may wait for a connection that takes it while nothing is answered: so long that there is time left
    /// for an answer.
    var waitingTimeout: Duration {
        totalTimeout > requestTimeout ? totalTimeout - requestTimeout : totalTimeout
    }

    /// How often deadlines are looked at, at most: often enough to be kept to within an eighth.
    var tickInterval: Duration {
        let shortest = min(requestTimeout, totalTimeout, settingsTimeout, pingTimeout)
        return max(.milliseconds(1), min(.milliseconds(100), shortest / 8))
    }
}
