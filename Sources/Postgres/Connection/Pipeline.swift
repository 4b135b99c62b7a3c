import CarillonIO

/// The statements that wait and those that were sent, in the order in which they were asked for.
///
/// Several statements are sent without waiting for answers. A script needs the session to itself: it is sent when all before
/// it are answered, and nothing after it is sent before it is.
struct Pipeline<Request> {
    enum Kind: Sendable {
        case statement
        case script
    }

    /// How many are sent ahead: enough to hide the round trip. Those beyond it are known not to be sent when the connection
    /// breaks. It may shrink while statements are in flight.
    var limit: Int
    private var waiting = Fifo<(Kind, Request)>()
    private var inFlight = Fifo<Request>()
    private(set) var isRunningScript = false

    init(limit: Int) { self.limit = limit }

    /// The one that the server answers now.
    var current: Request? {
        get { inFlight.first }
        set { inFlight.first = newValue }
    }

    /// The one that was sent last.
    var last: Request? {
        get { inFlight.last }
        set { inFlight.last = newValue }
    }

    mutating func enqueue(_ kind: Kind, _ request: Request) { waiting.append((kind, request)) }

    /// The next one that may be sent now, which then counts as sent.
    mutating func nextToSend() -> Request? {
        guard let (kind, request) = waiting.first, !isRunningScript else { return nil }
        switch kind {
        case .statement:
            guard inFlight.count < limit else { return nil }
        case .script:
            guard inFlight.isEmpty else { return nil }
            isRunningScript = true
        }
        _ = waiting.popFirst()
        inFlight.append(request)
        return request
    }

    /// The current one is answered.
    mutating func completed() -> Request? {
        isRunningScript = false
        return inFlight.popFirst()
    }

    /// Removes all, and returns the sent and the unsent ones separately.
    mutating func takeAll() -> (sent: [Request], unsent: [Request]) {
        var sent: [Request] = []
        var unsent: [Request] = []
        while let request = inFlight.popFirst() { sent.append(request) }
        while let (_, request) = waiting.popFirst() { unsent.append(request) }
        isRunningScript = false
        return (sent, unsent)
    }
}
