import CarillonIO
import FoundationEssentials
import TestSupport

/// What receivers of webhooks have got, as they store it.
final class PostedBatches: Sendable {
    struct Event: Decodable, Equatable, Sendable {
        let id: String
        let kind: String
        let messageId: Int?

        /// The numbers in its id, by which it is before or after another event of its message.
        var place: [Int] { id.split(separator: "-").compactMap { Int($0) } }
    }

    struct Batch: Sendable {
        /// The name of the webhook, which is the path of its URL.
        let webhook: String
        let id: String
        let events: [Event]
    }

    private struct Body: Decodable {
        let data: [Event]
    }

    private struct State {
        var accepted: [Batch] = []
        /// Webhooks whose batches wait for an answer.
        var held: Set<String> = []
        /// Nil: batches are accepted at once.
        var gate: Gate?
    }

    private let state = Guarded(State())

    /// In the order in which they were accepted, and each time that they were.
    var accepted: [Batch] { state.withLock { $0.accepted } }
    var held: Set<String> { state.withLock { $0.held } }

    /// From now on, batches wait until `release`.
    func hold() { state.withLock { $0.gate = Gate() } }

    /// Accepts what waits.
    func release() {
        let gate = state.withLock { state in
            state.held = []
            return state.gate.take()
        }
        gate?.open()
    }

    /// Serves the requests of a connection.
    func serve(_ line: inout RawLine) async throws {
        while let request = try await line.nextWebhookRequest() {
            let batch = try Self.batch(of: request)
            let gate = state.withLock { state in
                if state.gate != nil { state.held.insert(batch.webhook) }
                return state.gate
            }
            await gate?.pass()
            state.withLock { $0.accepted.append(batch) }
            try await line.respond(200)
        }
    }

    private static func batch(of request: WebhookRequest) throws -> Batch {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let events = try decoder.decode(Body.self, from: Data(request.body.utf8)).data
        let words = request.headers.first?.split(separator: " ") ?? []
        guard let id = request.header("webhook-id"), words.count > 1 else {
            throw IOError(.system, "a request without a path or a webhook-id: \(request.headers)")
        }
        return Batch(webhook: String(words[1].dropFirst()), id: id, events: events)
    }
}
