import CarillonIO

/// Delays everything between a client and the simulator: handshakes, bytes, ends and resets. The amount in transit is limited: at
/// the limit, it stops reading until the other side accepts something, like a kernel with full buffers.
///
/// Confined to the loop, whose watches and timers keep it alive.
final class DistantLink {
    /// One of the two connections, and the bytes that come from it.
    private final class End {
        let socket: Socket
        var watch: WatchToken?
        var interest: Interest = []
        /// The bytes that this end has sent and that have not arrived at the other end.
        var queue: DelayQueue
        /// The bytes that have arrived at the other end but that it has not accepted yet.
        var output: [UInt8] = []
        var written = 0
        /// Whether the other end accepts nothing.
        var isBlocked = false
        var timer: TimerToken?
        /// Whether this end may send more.
        var isOpen = true

        init(_ socket: consuming Socket, _ queue: DelayQueue) {
            self.socket = socket
            self.queue = queue
        }

        var isReading: Bool { isOpen && !queue.isFull }
    }

    private static let maxReads = 16

    private let loop: EventLoop
    private let client: End
    private let server: End
    private var room = [UInt8](repeating: 0, count: 65_536)

    /// Returns the descriptor that replaces the client's at the distance of the round trip.
    static func open(
        to client: consuming Socket,
        _ roundTrip: Duration,
        _ limit: Int,
        on loop: EventLoop
    ) throws(IOError) -> CInt {
        let (near, far) = try LoopbackPair().release()
        let queue = DelayQueue(delay: roundTrip / 2, limit: limit)
        DistantLink(End(client, queue), End(Socket(owning: far), queue), loop).updateWatches()
        return near
    }

    private init(_ client: End, _ server: End, _ loop: EventLoop) {
        (self.client, self.server, self.loop) = (client, server, loop)
    }

    private func other(than end: End) -> End { end === client ? server : client }

    // MARK: In

    private func ready(_ end: End, _ interest: Interest) {
        let other = other(than: end)
        if interest.contains(.write), other.isBlocked { write(from: other) }
        if interest.contains(.read), end.isReading { read(end) }
        updateWatches()
    }

    private func read(_ end: End) {
        for _ in 0..<Self.maxReads where end.isReading {
            let item: DelayQueue.Item
            do throws(IOError) {
                switch try end.socket.read(into: &room) {
                case .bytes(let count): item = .bytes(Array(room[..<count]))
                case .closed: item = .end
                case .wantsRead, .wantsWrite: return arm(end)
                }
            } catch {
                item = .reset
            }
            end.queue.put(item, at: .now)
            if item == .end || item == .reset { end.isOpen = false }
        }
        arm(end)
    }

    // MARK: Out

    /// Writes the next item when it is due, unless the other end accepts nothing.
    private func arm(_ end: End) {
        guard end.timer == nil, !end.isBlocked, !end.queue.isClosed, let due = end.queue.nextDue else { return }
        end.timer = loop.schedule(at: due) { [self] in
            end.timer = nil
            write(from: end)
            updateWatches()
        }
    }

    private func write(from end: End) {
        let other = other(than: end)
        end.isBlocked = false
        while !end.queue.isClosed {
            if end.written == end.output.count {
                guard let item = end.queue.take(at: .now) else { break }
                guard case .bytes(let bytes) = item else { return finish(end, isReset: item == .reset) }
                (end.output, end.written) = (bytes, 0)
            }
            do throws(IOError) {
                switch try other.socket.write(end.output.span.bytes.extracting(end.written...)) {
                case .bytes(let count): end.written += count
                case .wantsRead, .wantsWrite:
                    end.isBlocked = true
                    return
                }
            } catch {
                // The other end is gone, as reading from it will show. Further bytes are read and dropped.
                end.queue.close()
                resetIfUnread(end)
            }
        }
        arm(end)
    }

    /// The end, or the reset, of this end has arrived at the other.
    private func finish(_ end: End, isReset: Bool) {
        let other = other(than: end)
        end.queue.close()
        guard isReset else {
            other.socket.closeWriting()
            return resetIfUnread(other)
        }
        // The kernel sends the reset when the link, which has nothing left to wait for, closes the socket.
        other.socket.resetWhenClosed()
        other.queue.close()
        other.isOpen = false
        if let timer = other.timer.take() { loop.cancel(timer) }
    }

    /// Resets an end that keeps sending after the other end is gone and its end has arrived, once the delay has passed.
    private func resetIfUnread(_ end: End) {
        let other = other(than: end)
        guard end.isOpen, end.queue.isClosed, !other.isOpen, other.queue.isClosed else { return }
        _ = loop.schedule(at: .now + end.queue.delay) { [self] in
            end.socket.resetWhenClosed()
            end.isOpen = false
            updateWatch(end)
        }
    }

    private func updateWatches() {
        updateWatch(client)
        updateWatch(server)
    }

    /// Watches a socket for the events that the link needs. Once none are needed and nothing is in transit, the loop drops the
    /// link, and both sockets close.
    private func updateWatch(_ end: End) {
        var interest: Interest = []
        if end.isReading { interest.insert(.read) }
        if other(than: end).isBlocked { interest.insert(.write) }
        guard interest != end.interest else { return }
        if interest.isEmpty {
            if let watch = end.watch.take() { loop.cancel(watch) }
        } else if let watch = end.watch {
            loop.update(watch, to: interest)
        } else {
            do throws(IOError) {
                end.watch = try loop.watch(end.socket.descriptor, for: interest) { [self] in ready(end, $0) }
            } catch {
                // If there is no memory for a watch, the link cannot continue.
                end.isOpen = false
                other(than: end).queue.close()
                return
            }
        }
        end.interest = interest
    }
}
