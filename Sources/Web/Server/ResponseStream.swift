import CarillonCMicroHTTP
import CarillonIO

/// The body of a response that is sent in pieces for as long as its client listens.
///
/// `@unchecked`, because the connection is used only under the lock: by libmicrohttpd's thread while it reads, and by others to
/// resume it while it is suspended, so libmicrohttpd cannot free it.
package final class ResponseStream: @unchecked Sendable {
    package typealias Feed = @Sendable (ResponseStream) async -> Void

    private struct State {
        var waiting: [UInt8] = []
        /// The address of the connection.
        var connection: UInt?
        var isSuspended = false
        var isClosed = false
        var feed: Task<Void, Never>?
    }

    /// The stream is closed if its client leaves more than this unread.
    private static let maxWaiting = 512 * 1024
    private static let pieceBytes = 16 * 1024

    private let body: Feed
    private let state = Guarded(State())

    /// - Parameter body: sends the pieces and returns at the end. It is cancelled when the client disconnects or the server stops.
    package init(_ body: @escaping Feed) { self.body = body }

    package var isClosed: Bool { state.withLock(\.isClosed) }

    package func send(_ text: String) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.waiting += Array(text.utf8)
            if state.waiting.count > Self.maxWaiting {
                state.waiting = []
                state.isClosed = true
            }
            Self.resume(&state)
        }
    }

    /// Ends the stream. Pieces already sent are delivered. When this returns, the connection is not suspended and never will be
    /// again.
    func close() {
        let feed = state.withLock { state in
            state.isClosed = true
            Self.resume(&state)
            defer { state.feed = nil }
            return state.feed
        }
        feed?.cancel()
    }

    private static func resume(_ state: inout State) {
        guard state.isSuspended, let connection = state.connection.flatMap(OpaquePointer.init(bitPattern:)) else {
            return
        }
        state.isSuspended = false
        MHD_resume_connection(connection)
    }

    // MARK: libmicrohttpd

    /// The response for libmicrohttpd, which reads the stream on its thread and reports when it no longer needs it.
    func response(on connection: OpaquePointer) -> OpaquePointer? {
        let context = Unmanaged.passRetained(self)
        let response = cmicrohttp_stream(
            Self.pieceBytes,
            { context, _, buffer, size in
                guard let context, let buffer else { return cmicrohttp_end_of_stream() }
                return Unmanaged<ResponseStream>.fromOpaque(context).takeUnretainedValue()
                    .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
            },
            context.toOpaque(),
            { context in
                guard let context else { return }
                // Releases the reference passed to libmicrohttpd, which calls this once.
                Unmanaged<ResponseStream>.fromOpaque(context).takeRetainedValue().ended()
            }
        )
        if response == nil { context.release() } else { start(on: connection) }
        return response
    }

    private func start(on connection: OpaquePointer) {
        let feed = Task { [self] in
            await body(self)
            close()
        }
        let address = UInt(bitPattern: connection)
        let isTooLate = state.withLock { state in
            state.connection = address
            if !state.isClosed { state.feed = feed }
            return state.isClosed
        }
        if isTooLate { feed.cancel() }
    }

    /// Copies waiting bytes. If there are none, suspends the connection until there are.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            let count = min(state.waiting.count, buffer.count)
            if count > 0 {
                buffer.copyBytes(from: state.waiting[..<count])
                state.waiting.removeFirst(count)
                return count
            }
            guard !state.isClosed, let connection = state.connection.flatMap(OpaquePointer.init(bitPattern:)) else {
                return state.isClosed ? cmicrohttp_end_of_stream() : 0
            }
            state.isSuspended = true
            MHD_suspend_connection(connection)
            return 0
        }
    }

    /// libmicrohttpd no longer needs the stream.
    private func ended() {
        let feed = state.withLock { state in
            state.isClosed = true
            state.connection = nil
            state.isSuspended = false
            defer { state.feed = nil }
            return state.feed
        }
        feed?.cancel()
    }
}
