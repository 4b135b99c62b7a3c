import CarillonIO
import Testing

@testable import ApplePush

@Suite struct SentWindowTests {
    private static func push(_ number: Int) -> QueuedPush { QueuedPush(delivery: 0, position: Int32(number)) }

    private static func time(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }

    /// Pushes of ten bytes each, with the identifiers from 1.
    private static func window(_ count: Int, written bytes: Int? = nil) -> SentWindow {
        var window = SentWindow()
        for number in 1...count { window.append(push(number), length: 10) }
        window.wrote(bytes ?? count * 10)
        window.arrived(allBut: 0, at: time(0))
        return window
    }

    private static func numbers(_ pushes: some Sequence<QueuedPush>) -> [Int] { pushes.map { Int($0.position) } }

    @Test func `an error proves those before it, and those after it were discarded`() {
        var window = Self.window(5)
        let fates = window.answered(BinaryAnswer(status: 8, identifier: 3))
        #expect(Self.numbers(fates.accepted) == [1, 2])
        #expect(fates.refused == Self.push(3))
        #expect(Self.numbers(fates.unprocessed) == [4, 5])
        #expect(fates.unknown.isEmpty)
        #expect(window.count == 0)
    }

    @Test func `a shutdown names the last that was accepted`() {
        var window = Self.window(5)
        let fates = window.answered(BinaryAnswer(status: 10, identifier: 3))
        #expect(Self.numbers(fates.accepted) == [1, 2, 3])
        #expect(fates.refused == nil)
        #expect(Self.numbers(fates.unprocessed) == [4, 5])
    }

    @Test(arguments: [0, 4, 99, UInt32.max])
    func `an identifier that was never sent says nothing of those that were written`(identifier: UInt32) {
        var window = Self.window(5, written: 39)
        let fates = window.answered(BinaryAnswer(status: 8, identifier: identifier))
        #expect(Self.numbers(fates.unknown) == [1, 2, 3])
        #expect(Self.numbers(fates.unprocessed) == [4, 5])
    }

    @Test func `an error for one that was taken to be accepted discards all that followed`() {
        var window = Self.window(3)
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(3))) == [1, 2, 3])
        for number in 4...6 { window.append(Self.push(number), length: 10) }
        window.wrote(30)
        let fates = window.answered(BinaryAnswer(status: 8, identifier: 2))
        #expect(Self.numbers(fates.unprocessed) == [4, 5, 6])
        #expect(fates.unknown.isEmpty)
    }

    @Test func `a quiet period proves what was written before it began`() {
        var window = SentWindow()
        for number in 1...4 { window.append(Self.push(number), length: 10) }
        window.wrote(15)
        window.arrived(allBut: 0, at: Self.time(10))
        window.wrote(15)
        window.arrived(allBut: 0, at: Self.time(11))
        #expect(window.quietEnd(after: .seconds(3)) == Self.time(13))
        #expect(window.stayedQuiet(for: .seconds(3), at: Self.time(12)).isEmpty)
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(13))) == [1])
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(20))) == [2, 3])
        #expect(window.quietEnd(after: .seconds(3)) == nil)
        #expect(window.count == 1)
        #expect(window.first == 4)
    }

    @Test func `a quiet period begins when the gateway's host has a push`() {
        var window = SentWindow()
        for number in 1...3 { window.append(Self.push(number), length: 10) }
        window.wrote(30)
        window.arrived(allBut: 30, at: Self.time(0))
        #expect(window.awaitsArrival)
        #expect(window.stayedQuiet(for: .seconds(3), at: Self.time(100)).isEmpty)
        window.arrived(allBut: 11, at: Self.time(100))
        #expect(window.quietEnd(after: .seconds(3)) == Self.time(103))
        window.arrived(allBut: 0, at: Self.time(102))
        #expect(!window.awaitsArrival)
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(104))) == [1])
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(105))) == [2, 3])
    }

    @Test func `while a barrier is unanswered, silence proves nothing`() {
        var window = Self.window(3)
        window.appendBarrier(length: 18)
        #expect(!window.hasArrived)
        window.wrote(18)
        window.arrived(allBut: 0, at: Self.time(1))
        #expect(window.hasArrived)
        #expect(window.quietEnd(after: .seconds(3)) == nil)
        #expect(window.stayedQuiet(for: .seconds(3), at: Self.time(100)).isEmpty)
        #expect(Self.numbers(window.closed().unknown) == [1, 2, 3])
    }

    @Test func `once the gateway has ignored a barrier, silence proves what came before it`() {
        var window = Self.window(3)
        window.appendBarrier(length: 18)
        window.wrote(18)
        window.arrived(allBut: 0, at: Self.time(1))
        window.ignoredBarrier()
        #expect(window.quietEnd(after: .seconds(3)) == Self.time(3))
        #expect(window.stayedQuiet(for: .seconds(3), at: Self.time(2)).isEmpty)
        #expect(Self.numbers(window.stayedQuiet(for: .seconds(3), at: Self.time(3))) == [1, 2, 3])
        #expect(window.closed() == SentWindow.Fates())
    }

    @Test func `after an error there is nothing left to be quiet about`() {
        var window = Self.window(3)
        _ = window.answered(BinaryAnswer(status: 8, identifier: 2))
        #expect(window.quietEnd(after: .seconds(3)) == nil)
        #expect(window.stayedQuiet(for: .seconds(3), at: Self.time(9)).isEmpty)
    }

    @Test func `the error of a barrier proves all before it`() {
        var window = Self.window(3)
        window.appendBarrier(length: 18)
        #expect(window.count == 3)
        window.wrote(18)
        let fates = window.answered(BinaryAnswer(status: 2, identifier: 4))
        #expect(Self.numbers(fates.accepted) == [1, 2, 3])
        #expect(fates.refused == nil)
        #expect(window.count == 0)
    }

    @Test func `a barrier that is passed over is no push`() {
        var window = Self.window(2)
        window.appendBarrier(length: 18)
        window.wrote(18)
        #expect(Self.numbers(window.closed().unknown) == [1, 2])
    }

    @Test func `wherever the connection is cut, each push leaves the window once`() {
        for cut in 0...50 {
            for identifier in 0...7 as ClosedRange<UInt32> {
                for status in [8, 10] as [UInt8] {
                    var window = Self.window(5, written: cut)
                    let fates = window.answered(BinaryAnswer(status: status, identifier: identifier))
                    let refused = [fates.refused].compactMap(\.self)
                    let all = Array(fates.accepted) + refused + fates.unknown + fates.unprocessed
                    #expect(Self.numbers(all) == [1, 2, 3, 4, 5], "\(cut) \(identifier) \(status)")
                    #expect(window.closed() == SentWindow.Fates())
                }
            }
            var window = Self.window(5, written: cut)
            let fates = window.closed()
            #expect(Self.numbers(fates.unknown).count == cut / 10)
            #expect(Self.numbers(Array(fates.unknown) + fates.unprocessed) == [1, 2, 3, 4, 5])
        }
    }
}
