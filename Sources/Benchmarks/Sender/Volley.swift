import ApplePush

/// Pushes in batches, each with its own token and its own `apns-id`.
struct Volley {
    static let batchSize = 1000
    /// Enough that streams never wait for the next batch.
    static let batchesAtOnce = 6

    let pushes: Int
    let payload: [UInt8]

    /// A payload of about this many bytes.
    static func payload(of count: Int) -> [UInt8] {
        let start = #"{"aps":{"alert":{"title":"Carillon","body":""#
        let end = #""},"badge":1,"sound":"default"}}"#
        let text = "Twelve o'clock, and all is well. "
        let room = max(0, count - start.utf8.count - end.utf8.count)
        let body = String(repeating: text, count: room / text.utf8.count + 1).prefix(room)
        return Array("\(start)\(body)\(end)".utf8)
    }

    var batches: [PushBatch] {
        stride(from: 0, to: pushes, by: Self.batchSize).map { first in
            batch(first / Self.batchSize, of: min(Self.batchSize, pushes - first))
        }
    }

    func batch(_ number: Int, of count: Int) -> PushBatch {
        var batch = PushBatch()
        let topic = Array(SigningTeam.topic.utf8)
        let none: [UInt8] = []
        let heading = batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            priority: 10,
            collapseID: none.span.bytes
        )
        for index in 0..<count {
            let token = Self.token(number * Self.batchSize + index)
            let id = PushID.derived(installation: (1, 2), message: Int64(number), token: token.span.bytes)
            batch.addPush(token: token.span.bytes, heading: heading, id: id)
        }
        return batch
    }

    /// 64 hexadecimal digits that differ from push to push.
    private static func token(_ number: Int) -> [UInt8] {
        let digits = Array(String(number, radix: 16).utf8)
        return Array(repeating: UInt8(ascii: "a"), count: 64 - digits.count) + digits
    }
}
