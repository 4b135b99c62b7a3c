import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@Suite struct StreamTests {
    /// A connected pair, driven by turns in one thread: what no loop is needed for.
    private struct Pair: ~Copyable {
        var client: TLSStream
        var server: TLSStream

        init() throws {
            let house = try House()
            let (left, right) = try SocketPair().release()
            var client = try TLSStream(
                client: .client(trust: house.trust),
                host: "localhost",
                socket: Socket(owning: left)
            )
            var server = try TLSStream(server: .server(identity: house.server), socket: Socket(owning: right))
            while (try client.handshake(), try server.handshake()) != (nil, nil) {}
            self.client = client
            self.server = server
        }

        /// The client, whose server has gone without a close_notify.
        consuming func alone() -> TLSStream { client }
    }

    @Test func `a megabyte arrives whole, though the socket takes parts and the buffer moves`() throws {
        var pair = try Pair()
        let sent = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        var received: [UInt8] = []
        var written = 0
        var refusals = 0
        var scratch = [UInt8](repeating: 0, count: 50_000)
        while received.count < sent.count {
            writing: while written < sent.count {
                let piece = Array(sent[written..<min(written + 70_000, sent.count)])  // a new place in memory each time
                switch try pair.client.write(piece.span.bytes) {
                case .bytes(let count): written += count
                case .wantsWrite, .wantsRead:
                    refusals += 1
                    break writing
                }
            }
            reading: while true {
                switch try pair.server.read(into: &scratch) {
                case .bytes(let count): received += scratch[..<count]
                default: break reading
                }
            }
        }
        #expect(received == sent)
        #expect(refusals > 0)
    }

    @Test func `a close_notify ends the stream`() throws {
        var pair = try Pair()
        var scratch = [UInt8](repeating: 0, count: 100)
        #expect(try pair.client.read(into: &scratch) == .wantsRead)
        let bytes: [UInt8] = [1, 2, 3]
        #expect(try pair.server.write(bytes.span.bytes) == .bytes(3))
        pair.server.closeNotify()
        #expect(try pair.client.read(into: &scratch) == .bytes(3))
        #expect(try pair.client.read(into: &scratch) == .closed)
        #expect(try pair.client.read(into: &scratch) == .closed)
    }

    @Test(.timeLimit(.minutes(5))) func `an end without a close_notify is an error`() throws {
        var client = try Pair().alone()
        var scratch = [UInt8](repeating: 0, count: 100)
        let error = #expect(throws: TLSError.self) {
            // A child that another test starts at this moment holds the other end until it is a program of its own.
            while try client.read(into: &scratch) == .wantsRead {}
        }
        #expect(error?.code == .truncated)
        #expect(
            error?.message
                == "localhost closed the connection without ending TLS: what it was sending may be incomplete"
        )
        client.closeNotify()
    }

    @Test func `writing to a closed connection is an error and raises no signal`() throws {
        var client = try Pair().alone()
        let error = #expect(throws: TLSError.self) {
            let bytes: [UInt8] = [1]
            _ = try client.write(bytes.span.bytes)
        }
        #expect(error?.code == .reset)
        #expect(error?.underlying != nil)
    }

    @Test func `writing no bytes writes nothing`() throws {
        var pair = try Pair()
        let nothing: [UInt8] = []
        #expect(try pair.client.write(nothing.span.bytes) == .bytes(0))
    }

    /// What a client makes of a peer that answers its hello with those bytes.
    private func error(for answer: [UInt8], isEnd: Bool = false, to context: TLSContext) throws -> TLSError? {
        let pair = try SocketPair()
        _ = try pair.second.write(answer.span.bytes)
        if isEnd { pair.second.closeWriting() }
        let (left, right) = pair.release()
        let peer = Socket(owning: right)
        defer { withExtendedLifetime(peer) {} }
        var client = try TLSStream(client: context, host: "localhost", socket: Socket(owning: left))
        return #expect(throws: TLSError.self) {
            while try client.handshake() != nil {}
        }
    }

    /// What somebody else than a TLS server may send, and what it is taken for.
    @Test(arguments: [
        (Array("220 mail.example.org ESMTP\r\n".utf8), TLSError.Code.notTLS),
        (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .notTLS),
        ([0x15, 3, 1, 0, 2, 2, 70], .rejected),  // alert: protocol version
        ([0x15, 3, 3, 0, 2, 2, 40], .rejected),  // alert: handshake failure
        ([0x16, 3, 3, 0, 4, 9, 9, 9, 9], .other),
        ([], .truncated),
    ])
    func `a peer that does not speak TLS has a code of its own`(answer: [UInt8], code: TLSError.Code) throws {
        let error = try error(for: answer, isEnd: true, to: .client(trust: .pem(KeyFixtures.root), alpn: ["h2"]))
        #expect(error?.code == code, "\(String(describing: error))")
    }

    /// A server that is no stickler says one and the same for "no certificate" and "no cipher that I know".
    @Test(
        arguments: [
            (
                40, false, false,
                "it may require a certificate and have received none, or it supports no cipher that is considered secure"
            ),
            (40, true, true, "it does not accept the certificate that it received"),
            (42, false, true, "it requires a certificate and received none"),
            (42, true, true, "it does not accept the certificate that it received"),
            (45, true, true, "the certificate that it received has expired"),
            (116, false, true, "it requires a certificate and received none"),
            (70, true, false, "it supports no TLS version that this program supports"),
        ] as [(UInt8, Bool, Bool, String)]
    )
    func `an alert is about the certificate only where one was shown or asked for`(
        alert: UInt8,
        isShown: Bool,
        isAboutCertificate: Bool,
        advice: String
    ) throws {
        let identity = isShown ? try Identity(certificate: KeyFixtures.certificate, privateKey: KeyFixtures.key) : nil
        let error = try error(
            for: [0x15, 3, 3, 0, 2, 2, alert],
            to: .client(identity: identity, trust: .pem(KeyFixtures.root))
        )
        #expect(error?.alert == alert)
        #expect(error?.isAboutCertificate == isAboutCertificate)
        #expect(error?.message.hasSuffix(advice) == true, "\(String(describing: error))")
    }
}
