import ApplePush
import HTTP2
import IO
import PushQueue
import TLS
import Testing

/// Names that other modules have too.
@Suite struct NameTests {
    @Test func `modules and types of the same names stand beside each other`() async throws {
        let theirs = (TLS.Session(name: "TLS"), IO.Message(), Connection(), JSON.null, PushQueue.Worker())
        let session = APNs.Session(backend: RecordedBackend())
        let message = try APNs.Message(tokens: ["a1b2"], extra: ["value": APNs.JSON.null])
        let connection: APNs.Connection = session.connection(to: .sandbox, credential: try Test.credential())
        #expect(try await APNs(connection).send(message).accepted == 1)
        #expect(theirs.0.name == "TLS")
    }
}
