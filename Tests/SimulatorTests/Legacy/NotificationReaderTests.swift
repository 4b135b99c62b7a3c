import CarillonIO
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct NotificationReaderTests {
    /// The values of a notification, without the places where they lie.
    struct Content: Equatable {
        var command: UInt8
        var identifier: UInt32 = 0
        var token: [UInt8] = []
        var payload: [UInt8] = []
        var expiration: UInt32?
        var priority: UInt8?
    }

    /// Reads what can be read, and says how it ended.
    private static func read(_ pieces: [[UInt8]]) -> (contents: [Content], last: NotificationReader.Next) {
        var reader = NotificationReader()
        var contents: [Content] = []
        for piece in pieces {
            reader.append(piece[...])
            while true {
                let next = reader.next()
                guard case .notification(let notification) = next else {
                    if next == .incomplete { break }
                    return (contents, next)
                }
                contents.append(
                    Content(
                        command: notification.command,
                        identifier: notification.identifier,
                        token: Array(reader.bytes[notification.token]),
                        payload: Array(reader.bytes[notification.payload]),
                        expiration: notification.expiration,
                        priority: notification.priority
                    )
                )
            }
        }
        return (contents, .incomplete)
    }

    private static let three: [UInt8] =
        [0, 0, 2, 0xaa, 0xbb, 0, 2, 0x7b, 0x7d]
        + [1, 0, 0, 0, 7, 0, 0, 0, 9, 0, 1, 0xcc, 0, 2, 0x7b, 0x7d]
        + [2, 0, 0, 0, 27, 1, 0, 1, 0xdd, 2, 0, 2, 0x7b, 0x7d, 3, 0, 4, 0, 0, 1, 0, 4, 0, 4, 0, 0, 0, 5, 5, 0, 1, 10]

    private static let contents = [
        Content(command: 0, token: [0xaa, 0xbb], payload: [0x7b, 0x7d]),
        Content(command: 1, identifier: 7, token: [0xcc], payload: [0x7b, 0x7d], expiration: 9),
        Content(command: 2, identifier: 256, token: [0xdd], payload: [0x7b, 0x7d], expiration: 5, priority: 10),
    ]

    @Test func `the three commands are read, wherever their bytes are split`() {
        for cut in 0...Self.three.count {
            let (contents, last) = Self.read([Array(Self.three.prefix(cut)), Array(Self.three.dropFirst(cut))])
            #expect(contents == Self.contents, "split at \(cut)")
            #expect(last == .incomplete)
        }
        #expect(Self.read(Self.three.map { [$0] }).contents == Self.contents)
    }

    @Test(
        arguments: [
            ([3], 0), ([2, 0xff, 0, 0, 0], 0),
            // An item that goes beyond its frame, one that nobody knows, one that comes twice, and wrong lengths.
            ([2, 0, 0, 0, 4, 1, 0, 9, 0], 0), ([2, 0, 0, 0, 3, 6, 0, 0], 0), ([2, 0, 0, 0, 6, 1, 0, 0, 1, 0, 0], 0),
            ([2, 0, 0, 0, 5, 3, 0, 2, 0, 0], 0), ([2, 0, 0, 0, 4, 5, 0, 1, 7], 0), ([2, 0, 0, 0, 2, 1, 0], 0),
            ([2, 0, 0, 0, 10, 3, 0, 4, 0, 0, 0, 9, 7, 0, 0], 9),
        ] as [([UInt8], UInt32)]
    )
    func `bytes that are no notification end the reading`(bytes: [UInt8], identifier: UInt32) {
        let (contents, last) = Self.read([bytes])
        #expect(contents.isEmpty)
        #expect(last == .malformed(identifier: identifier))
    }

    @Test func `an incomplete notification is known to be one`() {
        var reader = NotificationReader()
        #expect(!reader.isWithinNotification)
        reader.append(Self.three.prefix(3))
        #expect(reader.next() == .incomplete)
        #expect(reader.isWithinNotification)
    }
}

@Suite struct NotificationReaderFuzzTests {
    @Test func `any bytes are read without a fault, and alike in one piece and in many`() async {
        await Fuzzing.seeds(3_000) { seed in
            var random = SeededGenerator(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<20, using: &random) {
                let payload = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8(ascii: "x") }
                bytes += [0, 0, 1, 0xaa, 0, UInt8(payload.count)] + payload
                bytes += [2, 0, 0, 0, UInt8(10 + payload.count), 1, 0, 4, 1, 2, 3, 4, 2, 0, UInt8(payload.count)]
                bytes += payload
            }
            for _ in 0..<Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            func count(_ cut: () -> Int) -> [Range<Int>] {
                var reader = NotificationReader()
                var read: [Range<Int>] = []
                var left = bytes[...]
                while !left.isEmpty {
                    let piece = left.prefix(cut())
                    left = left.dropFirst(piece.count)
                    reader.append(piece)
                    loop: while true {
                        switch reader.next() {
                        case .notification(let notification):
                            read.append(0..<notification.token.count)
                            read.append(0..<notification.payload.count)
                        case .incomplete: break loop
                        case .malformed: return read
                        }
                    }
                }
                return read
            }
            let whole = count { bytes.count }
            let pieces = count { Int.random(in: 1...30, using: &random) }
            #expect(whole == pieces, "seed \(seed)")
        }
    }
}
