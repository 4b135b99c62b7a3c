import CarillonHTTPClient
import CarillonText
import CarillonWeb

/// Asks a worker for its health.
struct HealthProbe {
    let address: Address
    let timeout: Duration

    struct HealthAnswer: Equatable {
        let status: Int
        let body: String
    }

    /// A worker that listens on every interface is asked on the loopback interface.
    private var target: Address {
        switch address.host {
        case "0.0.0.0": Address(host: "127.0.0.1", port: address.port)
        case "::": Address(host: "::1", port: address.port)
        default: address
        }
    }

    func ask(_ path: String = "/readyz") async throws -> HealthAnswer {
        let client = HTTPClient()
        defer { client.stop() }
        let request = HTTPRequest(
            to: "http://\(target)\(path)",
            allowsPrivate: true,
            timeout: timeout,
            maxAnswerBytes: 16 << 20
        )
        switch await client.send(request) {
        case .answered(let status, _, let body):
            return HealthAnswer(status: status, body: String(decoding: body, as: UTF8.self).trimmed)
        case .failed(let why):
            throw CommandError(
                .unavailable,
                "Asking the worker at \(address) failed: \(why).",
                hint: "Check --http: it is the address that was passed to 'carillon worker --http'."
            )
        case .stopped: throw CancellationError()
        }
    }
}
