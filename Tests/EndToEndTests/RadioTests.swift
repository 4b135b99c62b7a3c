import ApplePush
import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import FoundationEssentials
import TestSupport
import Testing

/// A radio station in remote media sessions (iOS 27): an hour of it, against the simulator.
@Suite struct RadioTests {
    /// What a request tells a listener.
    private struct Shown: Decodable, Equatable {
        struct APS: Decodable, Equatable {
            struct Attributes: Decodable, Equatable {
                let id: String
                let song: Int?
            }

            let timestamp: Int
            let event: String
            let attributes: Attributes
        }

        let aps: APS
    }

    private static let songs = 20
    private static let songLength = 180

    private static func token(_ listener: String) -> String { listener + String(repeating: "0", count: 62) }

    /// Three minutes pass: everything that was ordered or waits is older by as much, and retries are due.
    private static func passTime(_ queue: TestQueue) async throws {
        try await queue.database.run(
            """
            UPDATE carillon.update_stamps SET stamp = stamp - \(songLength), due_at = due_at - interval '\(songLength) s';
            UPDATE carillon.updates SET due_at = due_at - interval '\(songLength) s';
            UPDATE carillon.scheduled SET run_at = now()
            """
        )
    }

    @Test func `a radio plays for an hour, and no listener sees an earlier song after a later one`() async throws {
        let rules = ["c1=503:ServiceUnavailable*1", "c2=503:ServiceUnavailable*3"]
        try await TestQueue.with(simulator: { $0.answers = try rules.map { try AnswerRule(parsing: $0) } }) {
            queue,
            simulator in
            let listeners = ["a1", "c1", "c2"]
            let tokens = listeners.map { "'\(Self.token($0))'" }.joined(separator: ",")
            try await queue.database.run(
                """
                SELECT carillon.register_token('app', '\(Self.token("b1"))', kind => 'media_start');
                SELECT carillon.register_token('app', t, 'radio', kind => 'media_session') FROM unnest(ARRAY[\(tokens)]) t;
                SELECT carillon.start_media('app', ARRAY['\(Self.token("b1"))'], '{"id": "radio"}')
                """
            )
            func tell(_ function: String, _ attributes: String) async throws {
                try await queue.database.run(
                    """
                    SELECT carillon.\(function)('app', ARRAY(SELECT token FROM carillon.tokens WHERE owner = 'radio'), '\(attributes)')
                    """
                )
            }
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            for song in 1...Self.songs {
                try await tell("update_media", #"{"id": "radio", "song": \#(song)}"#)
                // The sixth follows so soon that the fifth is never sent.
                if song == 5 { continue }
                try await queue.drain(backend)
                try await Self.passTime(queue)
            }
            try await tell("end_media", #"{"id": "radio"}"#)
            try await tell("update_media", #"{"id": "radio", "song": 99}"#)
            try await queue.drain(backend)
            try await Self.passTime(queue)
            try await queue.drain(backend)
            await backend.shutdown()

            let requests = await simulator.receivedRequests()
            #expect(requests.allSatisfy { $0.pushType == "nowplaying" && $0.priority == nil })
            #expect(Set(requests.map(\.topic)) == ["org.example.app.push-type.nowplaying"])
            func shown(to listener: String, accepted: Bool = true) throws -> [Shown.APS] {
                try requests.filter { $0.token == Self.token(listener) && (!accepted || $0.status == 200) }
                    .map { try JSONDecoder().decode(Shown.self, from: Data($0.payload)).aps }
            }
            #expect(try shown(to: "b1").map(\.event) == ["start"])
            let all = Array(1...Self.songs).filter { $0 != 5 }
            for (listener, missed) in [("a1", 0), ("c1", 1), ("c2", 3)] {
                let shown = try shown(to: listener)
                #expect(shown.map(\.attributes.song) == all.dropFirst(missed).map { Int?($0) } + [nil], "\(listener)")
                #expect(shown.map(\.event) == all.dropFirst(missed).map { _ in "update" } + ["end"], "\(listener)")
                // By the clock of the station.
                let times = shown.map { $0.timestamp + ($0.attributes.song ?? Self.songs + 1) * Self.songLength }
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(listener): \(times)")
                #expect((times.last ?? 0) - (times.first ?? 0) >= (Self.songs - missed - 1) * Self.songLength)
            }
            // Nothing is attempted again once there is something newer.
            #expect(try shown(to: "c2", accepted: false).compactMap(\.attributes.song) == all)
            #expect(
                try await queue.database.rows(
                    "SELECT sum(sent), sum(failed), sum(cancelled), count(*) FILTER (WHERE sent = 0) FROM carillon.results"
                ) == ["(\(1 + 3 * (Self.songs - 1) - 4 + 3),0,\(3 + 4 + 3),2)"]
            )
        }
    }
}
