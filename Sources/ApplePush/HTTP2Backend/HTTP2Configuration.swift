/// Limits and time limits of HTTP/2 connections.
///
/// A backend stops the program if a number is not above 0 or a duration is negative. Only ``pingAfter``, ``idleTimeout`` and
/// ``topicBindingAge`` may be zero.
public struct HTTP2Configuration: Sendable {
    /// How many connections there may be to one gateway with one credential. Default: 4.
    public var connections = 4
    /// How many threads carry the connections. Default: 1.
    public var threads = 1
    /// How long connecting to one of the server's addresses may take. Default: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// How long the TLS handshake may take. Default: 5 seconds.
    public var handshakeTimeout: Duration = .seconds(5)
    /// How long the server may take to send its settings. Default: 5 seconds.
    public var settingsTimeout: Duration = .seconds(5)
    /// How long the server may take to acknowledge our settings. Default: 10 seconds.
    public var acknowledgementTimeout: Duration = .seconds(10)
    /// How long an answer may take after the last byte of the push was written. Default: 10 seconds.
    public var requestTimeout: Duration = .seconds(10)
    /// How long a push may take in all, including the wait for a connection, while the gateway answers nothing. While the gateway
    /// answers other pushes, the time limit starts anew and the push goes on waiting. Default: 30 seconds.
    public var totalTimeout: Duration = .seconds(30)
    /// How long the server may be silent before it gets a ping. Default: 15 seconds.
    public var pingAfter: Duration = .seconds(15)
    /// How long the answer to a ping may take. Default: 5 seconds.
    public var pingTimeout: Duration = .seconds(5)
    /// How long the server may accept no bytes. Default: 10 seconds.
    public var writeTimeout: Duration = .seconds(10)
    /// How long the server may allow no streams, or open no window for waiting bodies, before the connection is replaced.
    /// Default: 10 seconds.
    public var starvationTimeout: Duration = .seconds(10)
    /// The age at which a connection is replaced. Each connection gets a random age between this and twice this. Default: 3,600
    /// seconds.
    public var maximumAge: Duration = .seconds(3600)
    /// How long a connection may be idle before it is closed. Default: 300 seconds.
    public var idleTimeout: Duration = .seconds(300)
    /// A connection older than this is replaced when a topic is refused on it, and the push is sent again. Apple binds the topics
    /// of a signing key to a connection at its first push, so an app that was added to the key later is refused there. Default:
    /// 60 seconds.
    public var topicBindingAge: Duration = .seconds(60)
    /// Whether to use a single connection that is not replaced, as a building block for your own pool. A push that finds no room on
    /// it is not sent, with the code ``PushError/Code/blocked``. After the connection has ended, no push is sent, with the code
    /// ``PushError/Code/closed``.
    public var isSingleConnection = false
    /// Receives events about connections and pushes.
    public var observer: (any APNs.Observer)?

    /// The values that fit Apple's gateway.
    public init() {}

    var pool: ConnectionPool.Limits {
        let shortest = min(requestTimeout, totalTimeout, settingsTimeout, pingTimeout)
        return ConnectionPool.Limits(
            connections: isSingleConnection ? 1 : connections,
            isSingle: isSingleConnection,
            connectTimeout: connectTimeout,
            handshakeTimeout: handshakeTimeout,
            unacknowledgedTimeout: writeTimeout + pingTimeout,
            idleTimeout: idleTimeout,
            // Leaves time for an answer.
            waitingTimeout: totalTimeout > requestTimeout ? totalTimeout - requestTimeout : totalTimeout,
            tickInterval: max(.milliseconds(1), min(.milliseconds(100), shortest / 8))
        )
    }

    var check: LimitCheck {
        var check = LimitCheck("HTTP2Configuration")
        check.count("connections", connections)
        check.count("threads", threads)
        check.time("connectTimeout", connectTimeout)
        check.time("handshakeTimeout", handshakeTimeout)
        check.time("settingsTimeout", settingsTimeout)
        check.time("acknowledgementTimeout", acknowledgementTimeout)
        check.time("requestTimeout", requestTimeout)
        check.time("totalTimeout", totalTimeout)
        check.delay("pingAfter", pingAfter)
        check.time("pingTimeout", pingTimeout)
        check.time("writeTimeout", writeTimeout)
        check.time("starvationTimeout", starvationTimeout)
        check.time("maximumAge", maximumAge)
        check.delay("idleTimeout", idleTimeout)
        check.delay("topicBindingAge", topicBindingAge)
        return check
    }
}
