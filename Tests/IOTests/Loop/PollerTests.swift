import Testing

@testable import CarillonIO

@Suite struct PollerTests {
    /// One of many must be as short: on a busy machine others are late.
    @Test func `a wait is not rounded up to whole milliseconds, and never early`() throws {
        var poller = try Poller()
        var shortest = Duration.seconds(1)
        for _ in 0..<1_000 where shortest >= .microseconds(900) {
            let start = MonotonicInstant.now
            while MonotonicInstant.now < start + .microseconds(100) {
                let count = poller.wait(until: start + .microseconds(100))
                #expect(count == 0)
            }
            shortest = min(shortest, MonotonicInstant.now - start)
        }
        #expect(shortest >= .microseconds(100) && shortest < .microseconds(900))
    }

    @Test func `any number of wake-ups ends one wait`() throws {
        var poller = try Poller()
        for _ in 1...3 { poller.waker.wake() }
        #expect(poller.round() == Round(wakeUps: 1, ready: [:]))
        #expect(poller.round() == Round(wakeUps: 0, ready: [:]))
    }

    @Test func `a descriptor is reported as long as it is ready, for its interest only`() throws {
        var poller = try Poller()
        let pair = try SocketPair()
        let descriptor = pair.first.descriptor
        try poller.add(descriptor, for: .read, as: slot)
        #expect(poller.round().ready[slot] == nil)
        _ = try pair.second.write([1, 2].span.bytes)
        for _ in 1...2 { #expect(poller.round().ready[slot] == .read) }
        try poller.change(descriptor, to: .write, as: slot)
        #expect(poller.round().ready[slot] == .write)
        try poller.change(descriptor, to: [.read, .write], as: slot)
        #expect(poller.round().ready[slot] == [.read, .write])
        try poller.change(descriptor, to: [], as: slot)
        #expect(poller.round().ready[slot] == nil)
        try poller.change(descriptor, to: .read, as: slot)
        #expect(poller.round().ready[slot] == .read)
        poller.remove(descriptor)
        #expect(poller.round().ready[slot] == nil)
    }

    @Test(arguments: [Interest.read, .write])
    func `a peer that has gone is reported whatever the interest is`(interest: Interest) throws {
        var poller = try Poller()
        let pair = try LoopbackPair().release()
        let near = Socket(owning: pair.near)
        let far = Socket(owning: pair.far)
        try poller.add(near.descriptor, for: interest, as: slot)
        far.resetWhenClosed()
        _ = consume far
        #expect(poller.round().ready[slot] == [.read, .write])
    }

    @Test func `a descriptor that was closed while it was watched is reported no more`() throws {
        var poller = try Poller()
        let pair = try SocketPair().release()
        let peer = Socket(owning: pair.1)
        let closed = Socket(owning: pair.0)
        let number = closed.descriptor
        try poller.add(number, for: [.read, .write], as: slot)
        _ = consume closed
        _ = try? peer.write([1].span.bytes)
        #expect(poller.round().ready[slot] == nil)
    }

    @Test func `a descriptor that is not open cannot be watched`() throws {
        let poller = try Poller()
        #expect(throws: IOError.self) { try poller.add(-1, for: .read, as: slot) }
    }
}

private let slot = Slot(index: 7, generation: .max - 1)

/// What one wait reports, taken together: a poller may report the two directions apart.
private struct Round: Equatable {
    var wakeUps: Int
    var ready: [Slot: Interest]
}

extension Poller {
    /// Does not wait: what a kernel reports of this machine's own sockets is there at once.
    fileprivate mutating func round() -> Round {
        var round = Round(wakeUps: 0, ready: [:])
        for index in 0..<wait(until: .now) {
            if let event = event(at: index) {
                round.ready[event.slot, default: []].formUnion(event.ready)
            } else {
                round.wakeUps += 1
            }
        }
        return round
    }
}
