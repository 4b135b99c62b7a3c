import CarillonIO
import CarillonTLS

/// One connection to the gateway: the TLS stream below a conversation. Synchronous, and confined to its pool's loop.
final class PushConnection {
    /// Bytes gathered before each write. A TLS record can hold 16 KB; the difference leaves room for the last frame.
    private static let gathered = 15_872
    /// Pushes submitted before their bytes are drained. Keeping headers and bodies together is less work for both sides.
    private static let drained = 32

    let id: Int
    let conversation: any Conversation
    /// The peer's address, once the socket is connected.
    var address: SocketAddress?
    private var stream: TLSStream?
    private var output: [UInt8] = []
    private var outputSent = 0
    /// Why writing failed. Bytes that can still be read may give a better reason.
    private(set) var writeFailure: ConnectionEnd?
    private var isRefusedByKernel = false
    private var isWatchedForRoom = false

    init(_ id: Int, _ conversation: any Conversation) {
        self.id = id
        self.conversation = conversation
    }

    var status: ConnectionStatus {
        let life = conversation.life
        var room = conversation.room
        // If the kernel has no room, pushes would wait here instead of in the queue, where another connection can take them.
        if isRefusedByKernel { room.free = 0 }
        let phase: ConnectionStatus.Phase =
            switch life.phase {
            case .connecting, .opening: .dialing
            case .ready where life.isOld: .old
            case .ready: conversation.isProven ? .ready : .proving
            case .draining(let end): .draining(end)
            case .closed(let end): .closed(end)
            }
        return ConnectionStatus(
            phase: phase,
            room: room,
            answered: life.answered,
            isAccepted: conversation.isAccepted,
            refusedToken: conversation.refusedToken
        )
    }

    var isClosed: Bool { conversation.life.isClosed }

    func connected(by stream: consuming TLSStream, at now: MonotonicInstant) {
        self.stream = consume stream
        conversation.connected(at: now)
    }

    // MARK: Writing

    /// Takes up to `count` of the waiting pushes. The next `flush` sends them.
    func submit(_ count: Int, at now: MonotonicInstant) {
        var left = count
        while left > 0, conversation.submit(min(left, Self.drained), at: now) {
            left -= Self.drained
            if left > 0, !isRefusedByKernel { write(onlyFullRecords: true) }
        }
    }

    /// Whether there is something to write and the kernel may have room for it.
    var wantsToWrite: Bool {
        isOpen && !isRefusedByKernel && (!output.isEmpty || conversation.wantsToWrite)
    }

    /// Writes until nothing is left or the kernel has no room.
    func flush(at now: MonotonicInstant) {
        if !isOpen || writeFailure != nil { return }
        write(onlyFullRecords: false)
        conversation.wrote(isStalled: isRefusedByKernel, at: now)
        if isClosed { end(.closedByPeer) }
    }

    private func write(onlyFullRecords: Bool) {
        if writeFailure != nil { return }
        isRefusedByKernel = false
        do throws(ConnectionEnd) {
            while true {
                if outputSent == 0 { try conversation.drain(into: &output, limit: Self.gathered) }
                let isFull = outputSent > 0 || output.count >= Self.gathered
                if output.isEmpty || (onlyFullRecords && !isFull) { return }
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
        } catch {
            writeFailure = error
        }
    }

    private func writeOnce() throws(ConnectionEnd) -> WriteResult? {
        let output = self.output
        do {
            // Safe: the array stays alive and unchanged during the call.
            return try unsafe stream?.write(output.span.bytes.extracting(outputSent...))
        } catch {
            throw ConnectionEnd(error)
        }
    }

    /// The kernel has room again.
    func hasRoom(at now: MonotonicInstant) {
        isRefusedByKernel = false
        conversation.wrote(isStalled: false, at: now)
    }

    // MARK: Reading

    private var isOpen: Bool { stream?.descriptor != nil }

    /// Watches the descriptor for room to write only while the kernel has none.
    func updateInterest(of watch: WatchToken, on loop: EventLoop) {
        guard isRefusedByKernel != isWatchedForRoom else { return }
        isWatchedForRoom = isRefusedByKernel
        loop.update(watch, to: isWatchedForRoom ? [.read, .write] : .read)
    }

    /// Reads what has arrived, into `buffer`. Bounded, so that a peer that never stops cannot starve others. Returns true if there
    /// may be more, which the descriptor does not announce.
    func read(into buffer: inout [UInt8], at now: MonotonicInstant) -> Bool {
        do {
            for _ in 0..<16 {
                switch try stream?.read(into: &buffer) {
                case .bytes(let count):
                    // Safe: the array stays alive and unchanged during the call.
                    unsafe conversation.received(buffer.span.bytes.extracting(0..<count), at: now)
                    if isClosed { end(.closedByPeer) }
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

    func passed(to now: MonotonicInstant) {
        if conversation.awaitsArrival, let unacknowledged = stream?.unacknowledged {
            // There are more encrypted bytes than plain ones, so at least this many have arrived.
            conversation.arrived(allBut: unacknowledged, at: now)
        }
        conversation.passed(to: now)
        if isClosed { end(.silent) }
    }

    /// Ends every push in flight and closes. The first reason is kept.
    func end(_ end: ConnectionEnd) {
        let farewell = conversation.end(end)
        guard var stream = self.stream.take() else { return }
        // After a partly written frame, no other can be sent.
        guard !isRefusedByKernel, output.isEmpty, writeFailure == nil else { return }
        // Safe: the array stays alive and unchanged during the call.
        _ = unsafe try? stream.write(farewell.span.bytes)
        stream.closeNotify()
    }
}
