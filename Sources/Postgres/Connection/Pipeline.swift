import CarillonIO

/// The waiting and the sent statements, in the order of the calls.
///
/// Several statements are sent without waiting for answers. A script needs the session to itself: it is sent once everything before
/// it has been answered, and nothing is sent until it has been answered.
struct Pipeline<Request> {
    enum Kind: Sendable {
        case statement
        case script
    }

    /// How many statements are sent ahead: enough to hide the round trip. Statements beyond it are known not to have been sent if
    /// the connection breaks. It may be lowered while statements are in flight.
    var limit: Int
    private var waiting = Fifo<(Kind, Request)>()
    private var inFlight = Fifo<Request>()
    private(set) var isRunningScript = false

    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { inFlight.isEmpty && waiting.isEmpty }

    /// The request that the server answers next.
    var current: Request? {
        get { inFlight.first }
        set { inFlight.first = newValue }
    }

    /// The request that was sent last.
    var last: Request? {
        get { inFlight.last }
        set { inFlight.last = newValue }
    }

    mutating func enqueue(_ kind: Kind, _ request: Request) { waiting.append((kind, request)) }

    /// The next request, if it may be sent now. It then counts as sent.
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

    /// The current request has been answered.
    mutating func completed() -> Request? {
        isRunningScript = false
        return inFlight.popFirst()
    }

    /// Removes all requests, and returns the sent and the unsent ones separately.
    mutating func takeAll() -> (sent: [Request], unsent: [Request]) {
        var sent: [Request] = []
        var unsent: [Request] = []
        while let request = inFlight.popFirst() { sent.append(request) }
        while let (_, request) = waiting.popFirst() { unsent.append(request) }
        isRunningScript = false
        return (sent, unsent)
    }
}
