import CarillonCMicroHTTP
import Synchronization

/// Where libmicrohttpd's thread hands over requests and fetches responses.
final class ExchangeTable: Sendable {
    private struct Work {
        var isClosed = false
        /// Requests that libmicrohttpd has begun to read and whose response is not sent yet.
        var open = 0
        var idle: (@Sendable () -> Void)?
        var underWay: [ObjectIdentifier: Exchange] = [:]
    }

    let limits: Limits
    private let routes: RouteTable
    private let admission: WebServer.Admission?
    private let work = Mutex(Work())

    init(_ routes: RouteTable, _ limits: Limits, _ admission: WebServer.Admission? = nil) {
        self.routes = routes
        self.limits = limits
        self.admission = admission
    }

    /// Called several times for each request: with its headers, with each piece of its body, at its end, and once more
    /// when its connection is resumed.
    func called(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        _ uploaded: UnsafeRawBufferPointer,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> MHD_Result {
        guard let known = slot.pointee else {
            if announcesTooMuch(connection) { return Self.tooLarge.queue(on: connection) }
            if let refusal = refusal(of: connection, method, path) { return refusal.queue(on: connection) }
            work.withLock { $0.open += 1 }
            // The slot keeps it until libmicrohttpd reports the end of the request: see `WebServer`.
            slot.pointee = Unmanaged.passRetained(Exchange(connection)).toOpaque()
            return .YES
        }
        // Still kept by the slot, since the request is not over.
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if let response = exchange.response { return response.queue(on: connection) }
        guard uploaded.isEmpty else {
            // In the middle of a body no response is possible, so a client that sends more than it announced is
            // disconnected.
            return exchange.append(uploaded, limit: limits.bodyBytes) ? .YES : .NO
        }
        let (method, path) = (String(cString: method), String(cString: path))
        switch routes.match(method: method, path: path) {
        case .refused(let response):
            return response.queue(on: connection)
        case .found(let handler):
            let request = Exchange.request(connection, method: method, path: path, body: exchange.body)
            handle(request, exchange, handler)
            return .YES
        }
    }

    /// Called when the response of a request is sent, or its connection is lost.
    func ended() {
        let idle = self.work.withLock { work in
            work.open -= 1
            return work.open == 0 ? work.idle : nil
        }
        idle?()
    }

    /// Answers requests that come from now on with 503, and calls `idle` when no request is open.
    func refuseMore(idle: @escaping @Sendable () -> Void) {
        let isIdle = self.work.withLock { work in
            work.isClosed = true
            work.idle = idle
            return work.open == 0
        }
        if isIdle { idle() }
    }

    /// Stops accepting work. Requests under way are answered now, if their connection lives long enough.
    func close() {
        let left = self.work.withLock { work in
            work.isClosed = true
            defer { work.underWay = [:] }
            return Array(work.underWay.values)
        }
        for exchange in left { exchange.answer(Self.closing) }
    }

    private static let closing = Response(text: "This server is stopping.\n", status: 503)
    private static let tooLarge = Response(text: "The request's body is too large.\n", status: 413)

    private func announcesTooMuch(_ connection: OpaquePointer) -> Bool {
        guard let length = MHD_lookup_connection_value(connection, .HEADER_KIND, "Content-Length") else { return false }
        return (Int(String(cString: length)) ?? .max) > limits.bodyBytes
    }

    private func refusal(
        of connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>
    ) -> Response? {
        guard let admission else { return nil }
        return admission(
            Exchange.request(connection, method: String(cString: method), path: String(cString: path), body: [])
        )
    }

    private func handle(_ request: Request, _ exchange: Exchange, _ handler: @escaping Route.Handler) {
        // Suspended first: once it is listed, it may be answered at any moment.
        exchange.suspend()
        let isOpen = self.work.withLock { work in
            if !work.isClosed { work.underWay[ObjectIdentifier(exchange)] = exchange }
            return !work.isClosed
        }
        guard isOpen else { return exchange.answer(Self.closing) }
        let task = Task {
            exchange.answer(await handler(request))
            // Listed last: `close` waits for the exchanges that it finds here.
            _ = self.work.withLock { $0.underWay.removeValue(forKey: ObjectIdentifier(exchange)) }
        }
        exchange.isHandled(by: task)
    }
}
