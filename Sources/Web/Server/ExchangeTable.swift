import CarillonCMicroHTTP
import CarillonIO

/// The hand-over point between libmicrohttpd's thread and the handlers: requests in, responses out.
final class ExchangeTable: Sendable {
    private struct Work {
        var isClosed = false
        /// Requests that libmicrohttpd has begun to read and whose response is not sent yet.
        var open = 0
        var idle: (@Sendable () -> Void)?
        var underWay: [ObjectIdentifier: (exchange: Exchange, request: Request)] = [:]
        /// The streams that may still be open.
        var streams: [ResponseStream] = []
    }

    let limits: ClientLimits
    private let routes: RouteTable
    private let admission: WebServer.Admission?
    private let refusing: HTTPRefusal.Writing
    private let observer: (@Sendable (WebServer.Event) -> Void)?
    private let work = Guarded(Work())
    private let connections: Guarded<ConnectionTable>
    private let largeBodies: Guarded<LargeBodies>
    private let largeResponses: Guarded<LargeResponses>

    init(
        _ routes: RouteTable,
        _ limits: ClientLimits,
        _ admission: WebServer.Admission?,
        _ refusing: @escaping HTTPRefusal.Writing,
        _ observer: (@Sendable (WebServer.Event) -> Void)?
    ) {
        self.routes = routes
        self.limits = limits
        self.admission = admission
        self.refusing = refusing
        self.observer = observer
        connections = Guarded(ConnectionTable(limit: limits.connections))
        largeBodies = Guarded(LargeBodies(limit: limits.largeBodyBytes))
        largeResponses = Guarded(LargeResponses(limit: limits.largeResponseBytes))
    }

    /// Called several times for each request: with its headers, with each piece of its body, at its end, and once more
    /// when its connection is resumed.
    func called(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>,
        _ uploaded: UnsafeRawBufferPointer,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> MHD_Result {
        guard touch(connection) else { return .NO }
        guard let known = slot.pointee else { return begin(connection, method, path, version, slot) }
        // Not yet freed: the slot keeps a reference until the request ends.
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if let response = exchange.takeResponse() { return queue(response, on: connection) }
        guard uploaded.isEmpty else {
            return receive(uploaded, of: exchange)
        }
        if let refusal = exchange.refusal { return refusal.queue(on: connection) }
        let late = Exchange.endsConnection(connection) ? refusal(ofMemoryOn: connection) : nil
        if let refusal = exchange.bodyRefusal ?? late {
            return refuse(refusal, connection, method, path).queue(on: connection)
        }
        switch routes.match(method: String(cString: method), path: String(cString: path)) {
        case .refused(let refusal):
            return refuse(refusal, connection, method, path).queue(on: connection)
        case .found(let handler, let parameters):
            guard let request = Exchange.request(connection, method, path, body: exchange.body) else {
                return refuse(.malformed, connection, method, path).queue(on: connection)
            }
            connections.withLock { $0.began(ConnectionTable.ID(bitPattern: connection)) }
            handle(request.with(parameters), exchange, handler)
            return .YES
        }
    }

    private func queue(_ response: Response, on connection: OpaquePointer) -> MHD_Result {
        if let stream = response.stream {
            let isOpen = work.withLock { work in
                if !work.isClosed { work.streams = work.streams.filter { !$0.isClosed } + [stream] }
                return !work.isClosed
            }
            if !isOpen { stream.close() }
        }
        let id = ConnectionTable.ID(bitPattern: connection)
        for slow in largeResponses.withLock({ $0.began(on: id, response.body.count) }) {
            connections.withLock { $0.dismiss(slow) }
            shutDown(slow)
            observer?(.slowClientClosed)
        }
        return response.queue(on: connection)
    }

    /// The target of a request has arrived. libmicrohttpd has not yet separated its query.
    func arrived(_ target: UnsafePointer<CChar>, on connection: OpaquePointer) {
        let target = RequestTarget(in: target)
        connections.withLock { $0.received(ConnectionTable.ID(bitPattern: connection), target) }
    }

    /// The headers of a request have arrived.
    private func begin(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> MHD_Result {
        guard Exchange.isCheapToCompare(connection, method, path) else {
            return HTTPRefusal.costly.response.queue(on: connection)
        }
        if let refusal = refusal(ofMemoryOn: connection) {
            return refuse(refusal, connection, method, path).queue(on: connection)
        }
        let target = connections.withLock { $0.target(ConnectionTable.ID(bitPattern: connection)) }
        guard Exchange.isUnambiguous(connection, method, path, target?.length, version) else {
            return refuse(.ambiguous, connection, method, path).queue(on: connection)
        }
        if let refusal = target?.refusal { return refuse(refusal, connection, method, path).queue(on: connection) }
        let announced = Self.header("Content-Length", of: connection).map { Int($0) ?? .max } ?? 0
        var refusal = refusal(of: connection, method, path)
        if refusal == nil, announced > limits.bodyBytes {
            refusal = refuse(.tooLarge(limit: limits.bodyBytes), connection, method, path)
            observer?(.bodyRefused)
        }
        // A client that waits for 100 Continue reads the response before it sends the body.
        let canWait = Self.header("Expect", of: connection) == nil && announced <= limits.maxDiscarded
        if let refusal, !canWait { return refusal.queue(on: connection) }
        work.withLock { $0.open += 1 }
        // The slot keeps it until libmicrohttpd reports the end of the request: see `WebServer`.
        slot.pointee = Unmanaged.passRetained(Exchange(connection, refusal: refusal)).toOpaque()
        return .YES
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, of exchange: Exchange) -> MHD_Result {
        exchange.append(bytes)
        if exchange.isAccepted, exchange.received > limits.bodyBytes {
            largeBodies.withLock { $0.remove(exchange) }
            exchange.refuseBody(.tooLarge(limit: limits.bodyBytes))
            observer?(.bodyRefused)
        } else if exchange.isAccepted {
            largeBodies.withLock { $0.grew(exchange, by: bytes.count) }
        }
        // In the middle of a body no response is possible, so the client is disconnected.
        return exchange.received <= limits.maxDiscarded ? .YES : .NO
    }

    // MARK: Connections

    func opened(_ connection: OpaquePointer) {
        makeRoom(connections.withLock { $0.opened(ConnectionTable.ID(bitPattern: connection), at: .now) })
    }

    func closed(_ connection: OpaquePointer) {
        connections.withLock { $0.closed(ConnectionTable.ID(bitPattern: connection)) }
    }

    /// False if the connection is being closed.
    private func touch(_ connection: OpaquePointer) -> Bool {
        let id = ConnectionTable.ID(bitPattern: connection)
        return connections.withLock { connections in
            connections.received(id, at: .now)
            return !connections.isDismissed(id)
        }
    }

    private func makeRoom(_ room: ConnectionTable.Room) {
        switch room {
        case .enough: break
        case .closing(let id):
            shutDown(id)
            observer?(.idleConnectionClosed)
        case .none: observer?(.allConnectionsBusy)
        }
    }

    private func shutDown(_ id: ConnectionTable.ID) {
        // Still open, because libmicrohttpd reports each close on this thread.
        guard let connection = OpaquePointer(bitPattern: id) else { return }
        cmicrohttp_shut_down(connection)
    }

    // MARK: Ends

    /// Called when the response to a request has been sent or its connection lost.
    ///
    /// - Parameter exchange: nil if it was answered by its headers alone, or they never arrived whole.
    func ended(on connection: OpaquePointer, _ exchange: Exchange?) {
        let id = ConnectionTable.ID(bitPattern: connection)
        if let exchange { largeBodies.withLock { $0.remove(exchange) } }
        largeResponses.withLock { $0.ended(on: id) }
        makeRoom(connections.withLock { $0.ended(id, at: .now) })
        guard exchange != nil else { return }
        let idle = work.withLock { work in
            work.open -= 1
            return work.open == 0 ? work.idle : nil
        }
        idle?()
    }

    /// Refuses new requests from now on, and calls `idle` once no request is open.
    func refuseMore(idle: @escaping @Sendable () -> Void) {
        let (isIdle, streams) = work.withLock { work in
            work.isClosed = true
            work.idle = idle
            defer { work.streams = [] }
            return (work.open == 0, work.streams)
        }
        for stream in streams { stream.close() }
        if isIdle { idle() }
    }

    /// Stops accepting work. Requests under way are answered now, if their connections last long enough.
    func close() {
        let (left, streams) = work.withLock { work in
            work.isClosed = true
            defer { (work.underWay, work.streams) = ([:], []) }
            return (Array(work.underWay.values), work.streams)
        }
        // libmicrohttpd aborts the process if it is stopped while a connection is suspended.
        for stream in streams { stream.close() }
        for (exchange, request) in left { exchange.answer(refusing(.interrupted, request)) }
    }

    private static func header(_ name: String, of connection: OpaquePointer) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
    }

    private func refusal(
        of connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>
    ) -> Response? {
        guard let admission else { return nil }
        guard let request = Exchange.request(connection, method, path, body: []) else {
            return refuse(.malformed, connection, method, path)
        }
        return admission(request)
    }

    /// With more of it, there might be no room left for the response, after the request was carried out.
    private func refusal(ofMemoryOn connection: OpaquePointer) -> HTTPRefusal? {
        Exchange.memory(on: connection) <= limits.headBytes ? nil : .longHead(limit: limits.headBytes)
    }

    private func refuse(
        _ refusal: HTTPRefusal,
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>
    ) -> Response {
        refusing(refusal, Exchange.head(connection, method, path))
    }

    private func handle(_ request: Request, _ exchange: Exchange, _ handler: @escaping Route.Handler) {
        // Suspend first: once the exchange is listed, it may be answered at any moment.
        exchange.suspend()
        let isOpen = work.withLock { work in
            if !work.isClosed { work.underWay[ObjectIdentifier(exchange)] = (exchange, request) }
            return !work.isClosed
        }
        guard isOpen else { return exchange.answer(refusing(.stopping, request)) }
        let task = Task {
            exchange.answer(await handler(request))
            // Remove it only now: `close` waits for the exchanges that it finds here.
            _ = work.withLock { $0.underWay.removeValue(forKey: ObjectIdentifier(exchange)) }
        }
        exchange.isHandled(by: task)
    }
}
