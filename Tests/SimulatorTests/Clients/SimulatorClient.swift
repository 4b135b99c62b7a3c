import CarillonHTTP2
import CarillonIO
import CarillonTLS

@testable import ApplePushSimulator

/// A client of the simulator. It sends requests unchecked, and collects the answers.
actor SimulatorClient {
    struct Answer: Equatable, Sendable {
        var status: UInt16 = 0
        var id = ""
        var uniqueID = ""
        var body = ""
        var retryAfter: Int32?
        /// Set where there was no answer.
        var ending: ErrorCode?
        var isSurelyUnprocessed = false
    }

    private static let limit = Duration.seconds(30)

    private let loop: EventLoop
    private var stream: TLSStream
    private let session: ClientSession
    private var input = [UInt8](repeating: 0, count: 65_536)
    private var answers: [UInt32: Answer] = [:]
    private var lastTag: UInt32 = 0
    private(set) var goAway: ErrorCode?
    private(set) var isClosed = false
    /// The numbers of streams that the server's SETTINGS allowed, in order.
    private(set) var allowances: [Int] = []

    /// Connects and waits for the server's SETTINGS.
    static func connect(
        to simulator: APNsSimulator,
        certificate: IssuedCertificate? = nil,
        trusting root: String? = nil,
        alpn: [String] = ["h2"],
        port: UInt16? = nil,
        keeping fields: [String] = ["apns-id", "apns-unique-id"],
        on loop: EventLoop
    ) async throws -> SimulatorClient {
        let identity = try certificate.map { try Identity(certificate: $0.certificate, privateKey: $0.privateKey) }
        let trust = Trust.pem(root ?? simulator.rootPEM)
        // The test checks which protocol the server chooses.
        let context = try TLSContext.client(identity: identity, trust: trust, alpn: alpn, requiresProtocol: false)
        let stream = try await TLSStream.connect(
            host: "localhost",
            port: port ?? simulator.port,
            context: context,
            connectTimeout: limit,
            handshakeTimeout: limit,
            on: loop
        )
        let client = try SimulatorClient(stream, keeping: fields, loop)
        try await client.waitForSettings()
        return client
    }

    /// A connection with a new certificate for those topics.
    static func certified(
        for topics: [String] = ["com.example.app"],
        by simulator: APNsSimulator,
        on loop: EventLoop
    ) async throws -> SimulatorClient {
        try await connect(to: simulator, certificate: simulator.issueCertificate(topics: topics), on: loop)
    }

    private init(_ stream: consuming TLSStream, keeping fields: [String], _ loop: EventLoop) throws {
        self.stream = stream
        self.loop = loop
        var settings = ClientSettings()
        settings.keptFields = fields
        settings.bodyLimit = 1 << 20
        session = try ClientSession(settings)
    }

    /// Sends the requests, as many at a time as the server allows, and waits until each has an answer or an end.
    func send(_ requests: [SampleRequest], authorization: String? = nil) async throws -> [Answer] {
        var waiting = requests[...]
        var tags: [UInt32] = []
        while true {
            while !isClosed, session.freeStreams > 0, let request = waiting.popFirst() {
                try tags.append(submit(request, authorization: authorization))
            }
            let isWaiting = tags.contains { answers[$0] == nil } || !waiting.isEmpty
            if isClosed || session.isDraining && waiting.count == requests.count || !isWaiting { break }
            try await step()
        }
        return tags.compactMap { answers[$0] }
    }

    /// Submits a request, and does not wait for its answer.
    func submit(_ request: SampleRequest, authorization: String? = nil) throws -> UInt32 {
        let path = request.fields.first { $0.name == ":path" }?.value ?? "/"
        let method = request.fields.first { $0.name == ":method" }?.value ?? "POST"
        var block = HeaderBlock(method: method, authority: "localhost", path: path)
        if let authorization { block.append("authorization", authorization) }
        for (name, value) in request.fields where !name.hasPrefix(":") {
            switch name {
            case "apns-topic": block.append("apns-topic", value)
            case "apns-id": block.append("apns-id", value)
            case "apns-push-type": block.append("apns-push-type", value)
            case "apns-priority": block.append("apns-priority", value)
            case "apns-expiration": block.append("apns-expiration", value)
            case "apns-channel-id": block.append("apns-channel-id", value)
            case "apns-request-id": block.append("apns-request-id", value)
            default: block.append("apns-collapse-id", value)
            }
        }
        let fields = try session.addFields(block)
        let body = session.addBody(request.payload.span.bytes)
        lastTag += 1
        let nothing: [UInt8] = []
        let span = nothing.span.bytes
        try session.submit(fields, pathSuffix: span, varying: span, body: body, tag: lastTag)
        session.release(fields)
        session.release(body)
        return lastTag
    }

    private func waitForSettings() async throws {
        while !isClosed, allowances.isEmpty { try await step() }
    }

    /// Reads until the server closes the connection.
    func waitForClose() async throws {
        while !isClosed { try await step() }
    }

    /// Writes the output, and reads the input or waits for it.
    private func step() async throws {
        try await flush()
        if isClosed { return }
        if try read() { return try await flush() }
        let deadline = MonotonicInstant.now + Self.limit
        let descriptor = stream.descriptor
        _ = try await loop.readiness(of: descriptor, for: .read, until: deadline, doing: "waiting for the simulator")
    }

    private func flush() async throws {
        var output: [UInt8] = []
        try session.drain(into: &output)
        var written = 0
        while written < output.count {
            let result: WriteResult
            do {
                result = try stream.write(output.span.bytes.extracting(written..<output.count))
            } catch {
                return end()
            }
            switch result {
            case .bytes(let count): written += count
            default:
                let deadline = MonotonicInstant.now + Self.limit
                let descriptor = stream.descriptor
                _ = try await loop.readiness(of: descriptor, for: .write, until: deadline, doing: "writing")
            }
        }
    }

    /// False if there is nothing to read.
    private func read() throws -> Bool {
        do {
            switch try stream.read(into: &input) {
            case .bytes(let count): try session.feed(input.span.bytes.extracting(0..<count))
            case .closed: end()
            default: return false
            }
        } catch {
            end()
        }
        readEvents()
        return true
    }

    private func end() {
        isClosed = true
        session.end()
        readEvents()
    }

    private func readEvents() {
        while let event = session.nextEvent() {
            switch event {
            case .settingsChanged: allowances.append(session.peerMaxStreams)
            case .goAway(let code): goAway = code
            case .answered(let tag, let answer):
                func text(_ span: RawSpan) -> String { span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
                answers[tag] = Answer(
                    status: answer.status,
                    id: session.withField(0, of: answer, text),
                    uniqueID: session.withField(1, of: answer, text),
                    body: session.withBody(of: answer, text),
                    retryAfter: answer.retryAfter
                )
            case .ended(let tag, let ending):
                answers[tag] = Answer(ending: ending.errorCode, isSurelyUnprocessed: ending.isSurelyUnprocessed)
            case .settingsAcknowledged, .written, .begun: break
            }
        }
    }
}
