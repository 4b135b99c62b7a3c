import CarillonIO
import TestSupport
import Testing

@Suite struct SocketTests {
    @Test func `bytes for which the peer's host has no room are unacknowledged until it has read others`() throws {
        let pair = try LoopbackPair()
        let bytes = [UInt8](repeating: 1, count: 65_536)
        var written = 0
        writing: while true {
            switch try pair.near.write(bytes.span.bytes) {
            case .bytes(let count): written += count
            case .wantsRead, .wantsWrite: break writing
            }
        }
        #expect(pair.near.unacknowledged > 0)
        #expect(pair.near.unacknowledged < written)

        var buffer = bytes
        while written > 0 {
            if case .bytes(let count) = try pair.far.read(into: &buffer) { written -= count }
        }
        // The kernel sends the last acknowledgement when it has the time.
        while pair.near.unacknowledged > 0 {}
    }
}
