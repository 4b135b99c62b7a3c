/// Limits and time limits of connections of the legacy binary protocol.
///
/// A backend stops the program if a number is not above 0 or a duration is negative. Only ``barrierAfter`` and ``idleTimeout``
/// may be zero.
public struct BinaryConfiguration: Sendable {
    /// How notifications are written. Default: ``BinaryFormat/frames``.
    public var format = BinaryFormat.frames
    /// How many connections there may be to one gateway with one credential. Default: 1.
    public var connections = 1
    /// How many threads carry the connections. Default: 1.
    public var threads = 1
    /// How many pushes on one connection may be without a known outcome. If the connection breaks, any of them may have arrived.
    /// When the window is full, a barrier is sent. Default: 100,000.
    public var window = 100_000
    /// The window of the first connection. It doubles as long as gateways report how far they got, and shrinks when one does not.
    /// Default: 1,000.
    public var firstWindow = 1_000
    /// How long no error may arrive before the pushes that have reached the gateway's host count as accepted. A later error
    /// means that pushes were wrongly reported as accepted. Default: 3 seconds.
    public var quietPeriod: Duration = .seconds(3)
    /// How many pushes must be waiting for the quiet period to justify a barrier. A barrier is a notification that the gateway
    /// refuses: its error proves that all pushes before it were accepted, at the cost of the connection. Default: 1,000.
    public var barrierCount = 1_000
    /// How long after the last push a barrier is sent. Default: 100 milliseconds.
    public var barrierAfter: Duration = .milliseconds(100)
    /// How long the answer to a barrier may take after it has reached the gateway's host. If none arrives, the quiet period decides
    /// about the pushes before it, and the gateway gets no more barriers. Default: 30 seconds.
    public var barrierTimeout: Duration = .seconds(30)
    /// How long connecting to one of the server's addresses may take. Default: 5 seconds.
    public var connectTimeout: Duration = .seconds(5)
    /// How long the TLS handshake may take. Default: 5 seconds.
    public var handshakeTimeout: Duration = .seconds(5)
    /// How long a push may wait for a connection while none can be opened. Default: 20 seconds.
    public var waitingTimeout: Duration = .seconds(20)
    /// How long the server may accept no bytes. Default: 10 seconds.
    public var writeTimeout: Duration = .seconds(10)
    /// The age at which a connection is replaced. Each connection gets a random age between this and twice this. Default: 3,600
    /// seconds.
    public var maximumAge: Duration = .seconds(3600)
    /// How long a connection may be idle before it is closed. Default: 300 seconds.
    public var idleTimeout: Duration = .seconds(300)
    /// Whether to use a single connection that is not replaced, as a building block for your own pool. A push that finds no room on
    /// it is not sent, with the code ``PushError/Code/blocked``. After the connection has ended, no push is sent, with the code
    /// ``PushError/Code/closed``.
    public var isSingleConnection = false
    /// Receives events about connections and pushes.
    public var observer: (any APNs.Observer)?

    /// The values that fit a gateway such as Apple's used to be.
    public init() {}

    var pool: ConnectionPool.Limits {
        ConnectionPool.Limits(
            connections: isSingleConnection ? 1 : connections,
            isSingle: isSingleConnection,
            connectTimeout: connectTimeout,
            handshakeTimeout: handshakeTimeout,
            unacknowledgedTimeout: writeTimeout,
            idleTimeout: idleTimeout,
            waitingTimeout: waitingTimeout,
            tickInterval: max(.milliseconds(1), min(.milliseconds(100), min(quietPeriod, barrierAfter) / 8))
        )
    }

    var check: LimitCheck {
        var check = LimitCheck("BinaryConfiguration")
        check.count("connections", connections)
        check.count("threads", threads)
        check.count("window", window)
        check.count("firstWindow", firstWindow)
        check.time("quietPeriod", quietPeriod)
        check.count("barrierCount", barrierCount)
        check.delay("barrierAfter", barrierAfter)
        check.time("barrierTimeout", barrierTimeout)
        check.time("connectTimeout", connectTimeout)
        check.time("handshakeTimeout", handshakeTimeout)
        check.time("waitingTimeout", waitingTimeout)
        check.time("writeTimeout", writeTimeout)
        check.time("maximumAge", maximumAge)
        check.delay("idleTimeout", idleTimeout)
        return check
    }
}
