import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

/// Peers are asked to compress answers without a table, and may do as they like.
@Suite struct AnswerTableTests {
    private static let preface = 24

    @Test func `the settings ask for a compression table of no bytes, in a frame that says its length`() throws {
        let bytes = try ClientEnd().drain()
        let frame = Array(bytes[Self.preface...])
        #expect(frame[3...8] == [4, 0, 0, 0, 0, 0])
        let length = Int(frame[1]) << 8 | Int(frame[2])
        let settings = Array(frame[9..<9 + length])
        let sizes = stride(from: 0, to: length, by: 6).filter { settings[$0...$0 + 1] == [0, 1] }
        #expect(sizes.map { Array(settings[$0 + 2..<$0 + 6]) } == [[0, 0, 0, 0]])
        // Next comes the WINDOW_UPDATE of the connection.
        #expect(frame[(9 + length)...].starts(with: [0, 0, 4, 8]))
    }

    @Test func `a peer that obeys is understood`() throws {
        let client = try ClientEnd()
        let server = try ServerEnd()
        server.answer = { _ in (429, "") }
        try exchange(client, server)
        var sizes: [Int] = []
        for tag: UInt32 in 0..<3 {
            try client.push(tag)
            try server.feed(client.drain())
            let answer = try server.drain()
            sizes.append(answer.count)
            try client.feed(answer)
        }
        #expect(sizes[0] == sizes[1] + 1 && sizes[1] == sizes[2], "no field is in a table; the first says so")
        #expect(client.answers.values.map(\.retryAfter) == [17, 17, 17])
    }

    @Test(arguments: [false, true])
    func `a peer that goes on using its table is understood`(acknowledges: Bool) throws {
        let client = try ClientEnd()
        try client.feed(FrameBytes.settings())
        _ = try client.drain()
        if acknowledges { try client.feed(FrameBytes.settingsAcknowledgement) }
        for tag: UInt32 in 0..<3 { try client.push(tag) }
        _ = try client.drain()
        let status = FrameBytes.block([(":status", "429")])
        let entry: [UInt8] = [0x40] + FrameBytes.string("retry-after") + FrameBytes.string("23")
        try client.feed(FrameBytes.frame(1, flags: 5, stream: 1, status + entry))
        try client.feed(FrameBytes.frame(1, flags: 5, stream: 3, status + [0xbe]))
        #expect(client.answers.mapValues(\.retryAfter) == [0: 23, 1: 23])
        // Now it obeys after all.
        try client.feed(FrameBytes.frame(1, flags: 5, stream: 5, [0x20] + status + entry))
        #expect(client.answers[2]?.retryAfter == 23 && !client.session.isFinished)
    }
}
