import CarillonIO
import CarillonText
import CarillonWeb

/// Asks a worker for its health, over HTTP/1.
struct HealthProbe {
    let address: Address
    let timeout: Duration

    struct HealthAnswer: Equatable {
        let status: Int
        let body: String
    }

    /// A worker that listens on every interface is asked on the loopback interface.
    private var host: String {
        switch address.host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: address.host
        }
    }

    func ask(_ path: String = "/readyz", on loop: EventLoop) async throws -> HealthAnswer {
        let deadline = MonotonicInstant.now + timeout
        let socket = try await TCP.connect(host: host, port: address.port, timeout: timeout, on: loop)
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n".utf8)
        // So few bytes always fit into the send buffer of a new connection.
        _ = try socket.write(request.span.bytes)
        var response: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while response.count < 16 << 20 {
            switch try socket.read(into: &chunk) {
            case .bytes(let count): response += chunk[..<count]
            case .closed: return try Self.read(response, from: address)
            case .wantsRead, .wantsWrite:
                let what = "asking the worker at \(address)"
                _ = try await loop.readiness(of: socket.descriptor, for: .read, until: deadline, doing: what)
            }
        }
        return try Self.read(response, from: address)
    }

    /// Parses the status and the body of the response.
    static func read(_ response: [UInt8], from address: Address) throws(CommandError) -> HealthAnswer {
        let text = String(decoding: response, as: UTF8.self)
        let words = text.prefix { !$0.isNewline }.split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw CommandError(
                .failed,
                "The server at \(address) is not a worker.",
                hint: "Check --http: it is the address that was passed to 'carillon worker --http'."
            )
        }
        let body = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
        return HealthAnswer(status: status, body: String(body).trimmed)
    }
}
