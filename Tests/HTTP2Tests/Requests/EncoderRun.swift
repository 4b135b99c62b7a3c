import CarillonIO
import TestSupport

@testable import CarillonHTTP2

/// Requests, settings, drains and cancellations in an order that a seed decides.
final class EncoderRun {
    let client: RequestClient
    private(set) var mismatches: [String] = []
    private(set) var cancelled = 0
    private var random: SeededGenerator
    private var kinds: [(id: ClientSession.FieldsID, fields: [HeaderDecoder.Field], varies: Bool)] = []
    private var expected: [UInt32: [HeaderDecoder.Field]] = [:]
    private var open: [ClientSession.Submission] = []

    private static let names: [StaticString] = [
        "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id", "authorization", "x",
        "y",
        "content-type", "apns-id",
    ]

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        client = try RequestClient(seed & 1 == 0 ? [] : [(1, 200)])
    }

    func run(steps: Int) throws {
        try addKind()
        for _ in 0..<steps { try step() }
        try drain(.max)
        // The decoder shrinks its table when sizes are acknowledged, we before the next request.
        try submit()
        try drain(.max)
        if !expected.isEmpty { mismatches.append("\(expected.count) requests never came") }
    }

    private func step() throws {
        switch Int.random(in: 0..<32, using: &random) {
        case 0...2: try addKind()
        case 3 where kinds.count > 1:
            let kind = kinds.remove(at: Int.random(in: 0..<kinds.count, using: &random))
            client.session.release(kind.id)
        case 4, 5: try announce()
        case 6 where !open.isEmpty: cancel()
        case 7, 8: try answer()
        case 9...15: try drain(.random(in: 1...4_000, using: &random))
        case 16: try drain(.max)
        default: try submit()
        }
    }

    private func addKind() throws {
        let method = ["POST", "GET", "DELETE"].randomElement(using: &random) ?? "POST"
        let path = text(upTo: 30)
        var block = HeaderBlock(method: method, authority: "a.example", path: "/" + path)
        var fields = [
            HeaderDecoder.Field(name: ":method", value: method), .init(name: ":scheme", value: "https"),
            .init(name: ":authority", value: "a.example"),
            .init(name: ":path", value: "/" + path, isNeverIndexed: true),
        ]
        for _ in 0..<Int.random(in: 0..<12, using: &random) {
            let name = Self.names.randomElement(using: &random) ?? "x"
            let isLong = Int.random(in: 0..<40, using: &random) == 0
            let value = isLong ? text(upTo: 20_000) : text(upTo: Int.random(in: 1..<60, using: &random))
            let isNever = Bool.random(using: &random)
            block.append(name, value, indexing: isNever ? .never : .incremental)
            fields.append(.init(name: name.description, value: value, isNeverIndexed: isNever))
        }
        let varies = Int.random(in: 0..<4, using: &random) > 0
        if varies {
            block.appendVarying("apns-id")
            fields.append(.init(name: "apns-id", value: "", isNeverIndexed: true))
        }
        kinds.append((try client.session.addFields(block), fields, varies))
    }

    /// Few different values, so that some repeat.
    private func text(upTo count: Int) -> String {
        let digit = UInt8.random(in: 0...3, using: &random)
        return String(repeating: "\(digit)", count: .random(in: 0...count, using: &random))
    }

    private func submit() throws {
        guard client.session.freeStreams > 0, let kind = kinds.randomElement(using: &random) else { return }
        let (suffix, id) = (text(upTo: Bool.random(using: &random) ? 70 : 1_024), text(upTo: 40))
        let submission = try client.submit(kind.id, path: suffix, id: id)
        var fields = kind.fields
        fields[3].value += suffix
        if kind.varies {
            let last = fields.removeLast()
            if !id.isEmpty { fields.append(.init(name: last.name, value: id, isNeverIndexed: true)) }
        }
        expected[UInt32(submission.stream)] = fields
        open.append(submission)
    }

    private func announce() throws {
        let sizes: [UInt32] = [0, 1, 40, 100, 150, 300, 1_000, 4_096, 4_097, 1 << 20]
        let frames: [UInt32] = [16_384, 16_385, 20_000, 1 << 24 - 1]
        var values: [(UInt16, UInt32)] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            if Int.random(in: 0..<4, using: &random) > 0 {
                values.append((1, sizes.randomElement(using: &random) ?? 0))
            } else {
                values.append((5, frames.randomElement(using: &random) ?? 16_384))
            }
        }
        try client.announce(values)
    }

    private func cancel() {
        let place = Int.random(in: 0..<open.count, using: &random)
        let submission = open.remove(at: place)
        guard client.session.reset(submission) else { return }
        // It may have been written already.
        if expected.removeValue(forKey: UInt32(submission.stream)) != nil { cancelled += 1 }
    }

    /// Ends the oldest request that was written.
    private func answer() throws {
        guard let place = open.firstIndex(where: { expected[UInt32($0.stream)] == nil }) else { return }
        let bytes = FrameBytes.reset(UInt32(open.remove(at: place).stream), 8)
        try client.session.feed(bytes.span.bytes)
        while client.session.nextEvent() != nil {}
    }

    private func drain(_ limit: Int) throws {
        for request in try client.drain(limit: limit) {
            let fields = expected.removeValue(forKey: request.stream)
            if fields != request.fields {
                mismatches.append("stream \(request.stream): \(request.fields) instead of \(fields ?? [])")
            }
            if client.reader.decoder.tableSize > client.reader.decoder.largestTableSize {
                mismatches.append("stream \(request.stream): the table is too large")
            }
        }
    }
}
