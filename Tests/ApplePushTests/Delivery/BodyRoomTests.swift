import Testing

@testable import ApplePush

@Suite struct BodyRoomTests {
    private func count(_ size: Int, window: Int, waiting: Int = 0) -> Int {
        BodyRoom(window: window, waiting: waiting).count(of: size)
    }

    @Test func `bodies are sent as long as they fit into the window`() {
        #expect(count(4_096, window: 65_535) == 15)
        #expect(count(4_096, window: 4_096) == 1)
        #expect(count(25, window: 65_535, waiting: 65_000) == 21)
        #expect(count(25, window: 100, waiting: 76) == 0)
        #expect(count(25, window: 100, waiting: 100) == 0)
        #expect(count(25, window: -50, waiting: 10) == 0)
    }

    @Test func `one body is sent in part if none waits and the window is open`() {
        #expect(count(4_096, window: 1) == 1)
        #expect(count(4_096, window: 1, waiting: 1) == 0)
        #expect(count(4_096, window: 0) == 0)
        #expect(count(4_096, window: -1) == 0)
    }

    @Test func `an empty body needs only an open window`() {
        #expect(count(0, window: 1) == .max)
        #expect(count(0, window: 100, waiting: 100) == .max)
        #expect(count(0, window: 0) == 0)
        #expect(BodyRoom.unlimited.count(of: 4_096) > 1_000_000)
    }
}
