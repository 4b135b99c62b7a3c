import ApplePush
import PushQueue
import TLS

/// The options that describe an app, for `app add` and `app set`.
struct AppOptions {
    static let all: [Option] = [
        .environment, .gateway, .gatewayCA, .feedbackGateway, .protocol, .maxRate, .maxAttempts, .reapBadTokens,
    ]

    let settings: Settings

    func gateway() throws -> String? { try address(.gateway) }

    func feedbackGateway() throws -> String? { try address(.feedbackGateway) }

    private func address(_ option: Option) throws -> String? {
        guard let text = settings.text(option) else { return nil }
        do {
            return try Gateway(text).description
        } catch {
            throw UsageError("--\(option.flag) takes an address such as localhost:2197, not '\(text)'.")
        }
    }

    /// The PEM text of the root certificate.
    func gatewayCA() throws -> String? {
        guard let path = settings.text(.gatewayCA) else { return nil }
        let text = try SmallFile.read(path).text
        do {
            _ = try TLSContext.client(trust: .pem(text))
        } catch {
            throw CommandError(
                .configuration,
                "The file \(path) holds no root certificate in PEM: \(error.message)",
                hint:
                    "A root certificate begins with -----BEGIN CERTIFICATE-----; 'carillon simulator --ca-out FILE' writes one."
            )
        }
        return text
    }

    /// Warns if APNs will refuse what the app sends.
    static func warn(_ console: Console, of topic: String?, with credential: StoredCredential?) {
        if let mismatch = credential?.mismatch(with: topic) { console.warn(mismatch) }
    }
}
