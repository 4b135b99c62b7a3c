import HTTP2
import IO
import TLS

/// One connection to the gateway: TLS below, what is said on it above. Synchronous and confined to its pool's loop: the
/// pool calls it when the socket is ready, when there are pushes and when time has passed, and looks at what became of it
/// afterwards.
final class PushConnection {
    /// A record of TLS holds 16 KB; so much is gathered before each write, and the rest left for the last frame.
    private static let gathered = 15_872
    /// After so many pushes their bytes are drained: header and body stay together, which is less work for both sides
    /// than a thousand headers and then a thousand bodies.
    private static let drained = 32

    let id: Int
    let conversation: Conversation
    /// Where the server is, once that is known.
    var address: SocketAddress?
    private var stream: TLSStream?
    private var output: [UInt8] = []
    private var outputSent = 0
    /// Writing failed; what can still be read may say why.
    private(set) var writeFailure: ConnectionEnd?
    private var isRefusedByKernel = false
    private var isWatchedForRoom = false

    /// A connection whose way to the server is yet to be made.
    init(_ id: Int, _ conversation: Conversation) {
        self.id = id
        self.conversation = conversation
    }

    var life: ConnectionLife { conversation.life }

    /// How many pushes it takes. What the kernel has no room for would only wait here, instead of where others can take
    /// it.
    private var room: ConnectionRoster.Room {
        ConnectionRoster.Room(
            free: isRefusedByKernel ? 0 : conversation.free,
            inFlight: conversation.inFlightCount,
            capacity: conversation.capacity
        )
    }

    /// What has become of it.
    var sighting: ConnectionSighting {
        let life = conversation.life
        return ConnectionSighting(
            phase: phase,
            room: room,
            isOld: life.isOld,
            isClosed: life.isClosed,
            end: life.end,
            answered: life.answered,
            isAccepted: conversation.isAccepted,
            refusedToken: conversation.refusedToken
        )
    }

    private var phase: ConnectionRoster.Phase {
        switch life.phase {
        case .connecting, .handshaking: .dialing
        case .ready where life.isOld: .old
        case .ready: conversation.isProven ? .ready : .proving
        case .draining, .closed: .draining
        }
    }

    /// The way to the server is made.
    func connected(by stream: consuming TLSStream, at now: MonotonicInstant) {
        self.stream = consume stream
        conversation.connected(at: now)
    }

    // MARK: Writing

    /// Takes as many of the waiting pushes as that; they are sent by the next `flush`.
    func submit(_ count: Int, at now: MonotonicInstant) {
        var left = count
        while left > 0, conversation.submit(min(left, Self.drained), at: now) {
            left -= Self.drained
            if left > 0 { writeFullRecords() }
        }
    }

    /// There is something to write that nobody refused to take.
    var wantsToWrite: Bool {
        isOpen && !isRefusedByKernel && (!output.isEmpty || conversation.wantsToWrite)
    }

    /// Writes what there is to write, until there is no more or the kernel has no room.
    func flush(at now: MonotonicInstant) {
        if !isOpen || writeFailure != nil { return }
        do {
            try write(isLast: true)
        } catch {
            writeFailure = error
        }
        conversation.wrote(isStalled: isRefusedByKernel, at: now)
        if life.isClosed { end(.closedByPeer) }
    }

    /// Writes what fills records, and leaves the rest to be filled up.
    private func writeFullRecords() {
        if isRefusedByKernel || writeFailure != nil { return }
        do {
            try write(isLast: false)
        } catch {
            writeFailure = error
        }
    }

    private func write(isLast: Bool) throws(ConnectionEnd) {
        isRefusedByKernel = false
        while true {
            // What was written in part is written on first.
            if outputSent == 0 { try fill() }
            if output.isEmpty || (!isLast && outputSent == 0 && output.count < Self.gathered) { return }
            switch try writeOnce() {
            case .bytes(let count):
                outputSent += count
                conversation.sent(count)
                guard outputSent == output.count else { continue }
                output.removeAll(keepingCapacity: true)
                outputSent = 0
            case .wantsWrite:
                isRefusedByKernel = true
                return
            case .wantsRead, nil: return
            }
        }
    }

    private func fill() throws(ConnectionEnd) {
        do {
            try conversation.drain(into: &output, limit: Self.gathered)
        } catch {
            throw ConnectionEnd(error)
        }
    }

    private func writeOnce() throws(ConnectionEnd) -> WriteResult? {
        let output = self.output
        do {
            // A span of an array that stays alive and unchanged through the call.
            return try unsafe stream?.write(output.span.bytes.extracting(outputSent...))
        } catch {
            throw ConnectionEnd(error)
        }
    }

    /// The kernel has room again: the peer took something.
    func hasRoom(at now: MonotonicInstant) {
        isRefusedByKernel = false
        conversation.wrote(isStalled: false, at: now)
    }

    // MARK: Reading

    private var isOpen: Bool { stream?.descriptor != nil }

    /// The descriptor is watched for room to write only while the kernel has none.
    func updateInterest(of watch: WatchToken, on loop: EventLoop) {
        guard isRefusedByKernel != isWatchedForRoom else { return }
        isWatchedForRoom = isRefusedByKernel
        loop.update(watch, to: isWatchedForRoom ? [.read, .write] : .read)
    }

    /// Reads what has come; `buffer` is room to read into. Bounded, so that a peer who never stops leaves others their
    /// turn: true if there may be more, which the descriptor will not tell.
    func read(into buffer: inout [UInt8], at now: MonotonicInstant) -> Bool {
        do {
            for _ in 0..<16 {
                switch try stream?.read(into: &buffer) {
                case .bytes(let count):
                    // A span of an array that stays alive and unchanged through the call.
                    unsafe conversation.received(buffer.span.bytes.extracting(0..<count), at: now)
                    if life.isClosed { end(.closedByPeer) }
                case .closed: end(.closedByPeer)
                case .wantsRead, .wantsWrite, nil: return false
                }
            }
        } catch {
            end(ConnectionEnd(error))
        }
        return isOpen
    }

    // MARK: Time and the end

    /// When it must be looked at next, if nothing happens before.
    var due: MonotonicInstant { conversation.due }

    /// Time has passed.
    func passed(to now: MonotonicInstant) {
        conversation.passed(to: now)
        if life.isClosed { end(.silent) }
    }

    /// Takes no more pushes; those in flight may still be answered.
    func retire(_ end: ConnectionEnd) { conversation.retire(end) }

    /// Ends every push in flight and closes. The first reason is the one that stays.
    func end(_ end: ConnectionEnd) {
        let farewell = conversation.end(end)
        guard var stream = self.stream.take() else { return }
        // In the middle of a frame there is no place for another.
        guard !isRefusedByKernel, output.isEmpty, writeFailure == nil else { return }
        // A span of an array that stays alive and unchanged through the call.
        _ = unsafe try? stream.write(farewell.span.bytes)
        stream.closeNotify()
    }
}
