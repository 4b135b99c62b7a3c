import Testing

@testable import ApplePush

@Suite struct BodyRoomTests {
    private func count(_ size: Int, window: Int, waiting: Int = 0) -> Int {
        BodyRoom(window: window, waiting: waiting).count(of: size)
    }

    @Test func `as many go out as the window takes whole`() {
        #expect(count(4_096, window: 65_535) == 15)
        #expect(count(4_096, window: 4_096) == 1)
        #expect(count(25, window: 65_535, waiting: 65_000) == 21)
        #expect(count(25, window: 100, waiting: 76) == 0)
        #expect(count(25, window: 100, waiting: 100) == 0)
        #expect(count(25, window: -50, waiting: 10) == 0)
    }

    @Test func `one goes out in part where none waits and the window is open at all`() {
        #expect(count(4_096, window: 1) == 1)
        #expect(count(4_096, window: 1, waiting: 1) == 0)
        #expect(count(4_096, window: 0) == 0)
        #expect(count(4_096, window: -1) == 0)
    }

    @Test func `what has no body needs no room but an open window`() {
        #expect(count(0, window: 1) == .max)
        #expect(count(0, window: 100, waiting: 100) == .max)
        #expect(count(0, window: 0) == 0)
        #expect(BodyRoom.unlimited.count(of: 4_096) > 1_000_000)
    }
}
