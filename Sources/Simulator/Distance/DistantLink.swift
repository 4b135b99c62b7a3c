import IO

/// Lies between a client and the simulator and holds up all that passes, as a long way does: handshakes, bytes, ends and
/// resets. Of what is under way it keeps so much and no more: then it reads no further, as a kernel does whose buffers are
/// full, until the other side takes something.
///
/// Confined to the loop, which keeps it for as long as either side may still say something.
final class DistantLink {
    private enum Side {
        case client
        case server

        var other: Side { self == .client ? .server : .client }
    }

    /// What one side says to the other.
    private struct Lane {
        var line: DelayLine
        /// What has arrived and the other side has not taken yet.
        var output: [UInt8] = []
        var written = 0
        var isBlocked = false
        var timer: TimerToken?
        /// Its source may say more.
        var isOpen = true

        /// Its source is listened to.
        var isReading: Bool { isOpen && !line.isFull }

        init(_ delay: Duration, limit: Int) { line = DelayLine(delay: delay, limit: limit) }
    }

    /// What is watched of a socket, while something is.
    private struct Watched {
        var token: WatchToken
        var interest: Interest
    }

    /// A turn reads so often before others have theirs.
    private static let readsPerTurn = 16

    private let loop: EventLoop
    private let client: Socket
    private let server: Socket
    private var fromClient: Lane
    private var fromServer: Lane
    private var watches: [Side: Watched] = [:]
    private var room = [UInt8](repeating: 0, count: 65_536)

    /// Returns the descriptor that stands for the client from now on, a round trip of that time away.
    static func open(
        to client: consuming Socket,
        _ distance: Duration,
        _ limit: Int,
        on loop: EventLoop
    ) throws(IOError) -> CInt {
        let (near, far) = try LoopbackPair().release()
        let link = DistantLink(client, Socket(owning: far), distance, limit, on: loop)
        link.updateWatch(.client)
        link.updateWatch(.server)
        return near
    }

    private init(
        _ client: consuming Socket,
        _ server: consuming Socket,
        _ distance: Duration,
        _ limit: Int,
        on loop: EventLoop
    ) {
        self.client = client
        self.server = server
        self.loop = loop
        fromClient = Lane(distance / 2, limit: limit)
        fromServer = Lane(distance / 2, limit: limit)
    }

    private subscript(lane side: Side) -> Lane {
        get { side == .client ? fromClient : fromServer }
        _modify { if side == .client { yield &fromClient } else { yield &fromServer } }
    }

    // MARK: In

    private func ready(_ side: Side, _ interest: Interest) {
        if interest.contains(.write), self[lane: side.other].isBlocked { write(side.other) }
        if interest.contains(.read), self[lane: side].isReading { read(side) }
        updateWatch(.client)
        updateWatch(.server)
    }

    private func read(_ side: Side) {
        for _ in 0..<Self.readsPerTurn where self[lane: side].isReading {
            let freight: DelayLine.Freight
            do throws(IOError) {
                switch try side == .client ? client.read(into: &room) : server.read(into: &room) {
                case .bytes(let count): freight = .bytes(Array(room[..<count]))
                case .closed: freight = .end
                case .wantsRead, .wantsWrite: return arm(side)
                }
            } catch {
                freight = .reset
            }
            self[lane: side].line.put(freight, at: .now)
            if freight == .end || freight == .reset {
                self[lane: side].isOpen = false
            }
        }
        arm(side)
    }

    // MARK: Out

    /// Comes back when the next piece arrives. While the other side takes nothing, that has time.
    private func arm(_ side: Side) {
        guard self[lane: side].timer == nil, !self[lane: side].isBlocked, !self[lane: side].line.isClosed,
            let due = self[lane: side].line.nextDue
        else { return }
        self[lane: side].timer = loop.schedule(at: due) { [self] in
            self[lane: side].timer = nil
            write(side)
            updateWatch(.client)
            updateWatch(.server)
        }
    }

    /// Writes what has arrived to the other side.
    private func write(_ side: Side) {
        self[lane: side].isBlocked = false
        while !self[lane: side].line.isClosed {
            if self[lane: side].written == self[lane: side].output.count {
                guard let freight = self[lane: side].line.take(at: .now) else { break }
                guard case .bytes(let bytes) = freight else { return end(side, isReset: freight == .reset) }
                self[lane: side].output = bytes
                self[lane: side].written = 0
            }
            let bytes = self[lane: side].output
            let rest = bytes.span.bytes.extracting(self[lane: side].written...)
            do throws(IOError) {
                switch try side == .client ? server.write(rest) : client.write(rest) {
                case .bytes(let count): self[lane: side].written += count
                case .wantsRead, .wantsWrite:
                    self[lane: side].isBlocked = true
                    return
                }
            } catch {
                // Nobody hears it any more, as the other side's own lane will tell. What still comes is read and dropped.
                self[lane: side].line.close()
                resetIfUnheard(side)
            }
        }
        arm(side)
    }

    private func end(_ side: Side, isReset: Bool) {
        self[lane: side].line.close()
        guard isReset else {
            if side == .client { server.closeWriting() } else { client.closeWriting() }
            return resetIfUnheard(side.other)
        }
        if side == .client { server.resetWhenClosed() } else { client.resetWhenClosed() }
        self[lane: side.other].line.close()
        self[lane: side.other].isOpen = false
        // The kernel tells the other side when the socket closes, which is when nothing waits here any more.
        if let timer = self[lane: side.other].timer.take() { loop.cancel(timer) }
    }

    /// Whoever goes on talking to a side that is gone, and whose end has come over, is reset: after as long as that takes.
    private func resetIfUnheard(_ side: Side) {
        let other = side.other
        guard self[lane: side].isOpen, self[lane: side].line.isClosed, !self[lane: other].isOpen,
            self[lane: other].line.isClosed
        else { return }
        _ = loop.schedule(at: .now + self[lane: side].line.delay) { [self] in
            if side == .client { client.resetWhenClosed() } else { server.resetWhenClosed() }
            self[lane: side].isOpen = false
            updateWatch(side)
        }
    }

    /// A socket is watched for what the link waits for. With nothing to wait for on either, and nothing under way, the
    /// loop lets go of the link, and both sockets close.
    private func updateWatch(_ side: Side) {
        var interest: Interest = []
        if self[lane: side].isReading { interest.insert(.read) }
        if self[lane: side.other].isBlocked { interest.insert(.write) }
        guard interest != watches[side]?.interest ?? [] else { return }
        if interest.isEmpty {
            if let watched = watches.removeValue(forKey: side) { loop.cancel(watched.token) }
        } else if let watched = watches[side] {
            loop.update(watched.token, to: interest)
            watches[side]?.interest = interest
        } else {
            let descriptor = side == .client ? client.descriptor : server.descriptor
            do throws(IOError) {
                let token = try loop.watch(descriptor, for: interest) { [self] in ready(side, $0) }
                watches[side] = Watched(token: token, interest: interest)
            } catch {
                // Without memory for a watch the link is as good as broken.
                self[lane: side].isOpen = false
                self[lane: side.other].line.close()
            }
        }
    }
}
