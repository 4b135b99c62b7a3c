import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import CarillonTLS

/// A client that writes its calls itself, and a service for it, run by the program.
struct PyapnsClient {
    let port: UInt16
    var headers = "Content-Type: text/xml\r\n"

    /// A service on a database, which ends with status 0.
    ///
    /// - Parameter ending: the signal that ends it; nil: the body has sent one.
    static func with(
        _ url: String,
        in folder: TemporaryFolder,
        _ words: [String] = [],
        ending: CInt? = SIGTERM,
        _ body: (PyapnsClient, BackgroundProgram, EventLoop) async throws -> Void
    ) async throws {
        try await TestLoop.with { loop in
            let program = try BackgroundProgram(
                ["pyapns", "--port", "0"] + words,
                environment: ["DATABASE_URL": url],
                in: folder
            )
            let line = try await program.line(containing: "Listening for calls", on: loop)
            let port = try #require(line.firstMatch(of: /"port":(\d+)/)).output.1
            try await body(PyapnsClient(port: try #require(UInt16(port))), program, loop)
            #expect(try await program.end(by: ending, on: loop) == .status(0), "\(program.said)")
        }
    }

    /// The same client, with an access token.
    func with(_ token: String) -> Self {
        var client = self
        client.headers += "Authorization: Bearer \(token)\r\n"
        return client
    }

    static let authority = Result { try CertificateAuthority(name: "Test") }

    /// - Parameter days: how long it is valid. The app of the shop has one for 365 days.
    static func certificate(_ topic: String, days: Int64 = 400) throws -> String {
        let end = Int64(time(nil)) + days * 86_400
        let issued = try authority.get().issue(commonName: "Push: \(topic)", topics: [topic], notAfter: end)
        return issued.certificatePEM + issued.privateKeyPEM
    }

    /// Anyone can make one: self-signed, with the topic as the user ID of its subject.
    static func selfSigned(_ topic: String, days: Int64 = 400) throws -> String {
        let key = try Key.generate()
        let builder = try CertificateBuilder(publicKey: key)
        builder.setSubject([(458, topic), (13, "Apple Push Services: \(topic)")])  // the user ID and the common name
        builder.setValidity(from: Int64(time(nil)) - 3600, to: Int64(time(nil)) + days * 86_400)
        return try builder.signed(by: nil, key).pem + key.privatePEM
    }

    /// The body of the response to a call with these values, written in XML.
    func call(_ method: String, _ values: String...) async -> String { await post(Self.text(of: method, values)) }

    static func text(of method: String, _ values: [String]) -> String {
        let parameters = values.map { "<param><value>\($0)</value></param>" }.joined()
        return
            "<?xml version='1.0'?>\n<methodCall><methodName>\(method)</methodName><params>\(parameters)</params></methodCall>"
    }

    func post(_ body: String, to path: String = "/") async -> String {
        let response = await exchange(body, to: path)
        return response.firstRange(of: "\r\n\r\n").map { String(response[$0.upperBound...]) } ?? response
    }

    /// The whole response.
    func exchange(_ body: String, to path: String = "/") async -> String {
        let headers = headers + "Content-Length: \(body.utf8.count)\r\n"
        return await RawHTTP.ask(port, "POST \(path)", headers: headers, body: body)
    }

    static func structure(_ members: KeyValuePairs<String, String>) -> String {
        "<struct>" + members.map { "<member><name>\($0)</name><value>\($1)</value></member>" }.joined() + "</struct>"
    }

    static func array(_ values: [String]) -> String {
        "<array><data>" + values.map { "<value>\($0)</value>" }.joined() + "</data></array>"
    }

    static func hello(_ text: String) -> String { structure(["aps": structure(["alert": text])]) }
}

extension String {
    var isNothing: Bool { contains("<params><param><value><nil/></value></param></params>") }

    /// The code of the fault that it is.
    var faultCode: Int? { firstMatch(of: /<name>faultCode<\/name><value><int>(\d+)</).flatMap { Int($0.output.1) } }

    /// The entries of feedback that it holds.
    var entries: [(time: String, token: String)] {
        matches(of: /<dateTime.iso8601>([0-9T:]+)<\/dateTime.iso8601><\/value><value><string>([0-9a-f]+)</).map {
            (String($0.output.1), String($0.output.2))
        }
    }
}
