import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

/// A session that shortens plain answers, beside one that does not.
@Suite struct ReceivedFramesFuzzTests {
    @Test func `whatever a peer sends in whatever pieces, shortened answers make no difference`() async throws {
        var answered = 0
        try await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            let clients = try [["apns-unique-id"], ["apns-id"]].map { names in
                var settings = ClientSettings()
                settings.keptFields = names
                return try ClientEnd(settings)
            }
            for client in clients {
                try client.feed(FrameBytes.settings([(3, 100)]))
                for tag: UInt32 in 0..<20 { try client.push(tag) }
                #expect(try client.drain().isEmpty == false)
            }
            for _ in 0..<10 {
                let bytes = (0..<Int.random(in: 1...6, using: &random)).flatMap { _ in Self.frame(using: &random) }
                var rest = bytes[...]
                while !rest.isEmpty {
                    let piece = Array(rest.prefix(.random(in: 1...200, using: &random)))
                    rest = rest.dropFirst(piece.count)
                    for client in clients { try? client.feed(piece) }
                }
                let sent = clients.map { try? $0.drain() }
                #expect(sent[0] == sent[1], "seed \(seed)")
            }
            for client in clients { client.end() }
            #expect(Self.outcome(clients[0]) == Self.outcome(clients[1]), "seed \(seed)")
            answered += clients[0].answers.count
        }
        #expect(answered > 500, "the sessions get far enough to matter")
    }

    /// Mostly plain answers, some of them for streams that have ended or never began.
    private static func frame(using random: inout SeededGenerator) -> [UInt8] {
        let stream =
            UInt32.random(in: 0..<(Int.random(in: 0..<50, using: &random) == 0 ? 60 : 20), using: &random) * 2 + 1
        let forms: [UInt8] = [0x00, 0x10, 0x40]
        let form = forms[min(Int.random(in: 0..<12, using: &random) / 5, 2)]
        let codedName: [UInt8] = [0x85, 0x1d, 0x75, 0x21, 0x63, 0x49]
        let name = Bool.random(using: &random) ? FrameBytes.string("apns-id") : codedName
        // "no-cache" in Huffman codes, from the examples of RFC 7541.
        let codedValue: [UInt8] = [0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]
        let value =
            Bool.random(using: &random) ? FrameBytes.string("0f9a3d1e-1f2b-4c5d-8e9f-a0b1c2d3e4f5") : codedValue
        let plain: [UInt8] = [0x88, form] + name + value
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return FrameBytes.frame(1, flags: 1, stream: stream, plain)
        case 1: return FrameBytes.frame(9, flags: 4, stream: stream, plain)
        case 2, 3: return FrameBytes.frame(1, flags: 5, stream: stream, plain + HeaderNoise.block(using: &random))
        case 4, 5: return FrameBytes.headers(stream, [(":status", "410"), ("apns-id", "x")])
        case 6, 7: return FrameBytes.data(stream, Array("{}".utf8), end: true)
        case 8: return FrameBytes.reset(stream, 8)
        case 9, 10: return FrameBytes.ping(7)
        case 11: return FrameBytes.frame(1, flags: 5, stream: stream, [0x88, 0x40] + name + value)
        case 12: return FrameBytes.frame(1, flags: 5, stream: stream, [0x88, 0xbe])
        case 13: return FrameBytes.frame(1, flags: 5, stream: stream, [0x20] + plain)
        case 14: return FrameBytes.goAway(last: stream)
        case 15: return FrameBytes.settingsAcknowledgement
        case 16: return FrameBytes.frame(1, flags: 13, stream: stream, [2] + plain + [0, 0])
        case 17: return FrameBytes.headers(stream, [(":status", "103"), ("apns-id", "early")])
        default: return FrameBytes.frame(1, flags: 5, stream: stream, plain)
        }
    }

    /// All that a session told of, but the field that only one keeps.
    private static func outcome(_ client: ClientEnd) -> [String] {
        let answers = client.answers.sorted { $0.key < $1.key }.map {
            "\($0.key): \($0.value.status) \($0.value.retryAfter ?? -1) \(client.bodies[$0.key] ?? "")"
        }
        let endings = client.endings.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let session = client.session
        return answers + endings + [
            "\(client.ended)", "\(client.goAways)", "\(session.framesReceived)", "\(session.openStreams)",
            "\(session.isFinished)", session.failure?.message ?? "",
        ]
    }
}
