import CarillonHTTPClient
import CarillonText
import FoundationEssentials

/// Decides what an answer of Apple's export service means. Nothing that it says makes the program send the token to another server,
/// or ask a server that it may not.
struct ExportRules: Sendable {
    enum State: Equatable {
        case processing
        case ready(ServiceURL)
    }

    private static let maxExcerpt = 200  // bytes

    private struct Requested: Decodable { let statusUrl: String }

    private struct Status: Decodable {
        struct Details: Decodable {
            /// Apple's page names it in both ways.
            let dataUrl, dataURL: String?
        }

        let status: String
        let downloadDetails: Details?
    }

    let service: ServiceURL
    let token: MetricsStore.ExportToken
    /// Whether servers may have private addresses. Then there is only one.
    let allowsPrivate: Bool

    /// Where to ask for the state of an export that was requested.
    func statusURL(_ outcome: HTTPOutcome) throws(CommandError) -> ServiceURL {
        let body = try body(outcome)
        guard let text = (try? JSONDecoder().decode(Requested.self, from: Data(body)))?.statusUrl else {
            throw failure("does not name the URL of the status")
        }
        guard let url = ServiceURL(text), url.origin == service.origin else {
            throw failure("names another server for the status, which is not asked: \(excerpt(text))")
        }
        return url
    }

    func state(_ outcome: HTTPOutcome) throws(CommandError) -> State {
        if case .answered(let status, _, _) = outcome, status == 429 || status >= 500 { return .processing }
        // So Apple answers a token that is not that of the request.
        let body = try body(outcome, refusal: 404)
        guard let known = try? JSONDecoder().decode(Status.self, from: Data(body)) else {
            throw failure("does not name the state of the export")
        }
        switch known.status {
        case "PROCESSING": return .processing
        case "SUCCESS": break
        case "FAILED", "EXPIRED":
            let sentence = "Apple's export of the metrics of \(token.app) has \(known.status.lowercased())."
            throw CommandError(.tryAgain, sentence, hint: "A day after the request, Apple makes a new one.")
        default: throw failure("names an unknown state: \(excerpt(known.status))")
        }
        guard let text = known.downloadDetails.flatMap({ $0.dataUrl ?? $0.dataURL }), let url = ServiceURL(text),
            allowsPrivate ? url.origin == service.origin : url.isEncrypted
        else { throw failure("does not name a URL of the file that may be asked") }
        return .ready(url)
    }

    /// - Parameter refusal: the status with which it refuses a token.
    func body(_ outcome: HTTPOutcome, refusal: Int = 401) throws(CommandError) -> [UInt8] {
        switch outcome {
        case .stopped: throw CommandError(.tryAgain, "The request to Apple's export service was interrupted.")
        case .failed(let why): throw CommandError(.unavailable, "Apple's export service: \(why).")
        case .answered(200..<300, _, let body): return body
        case .answered(300..<400, _, _): throw failure("redirects, which is not followed")
        case .answered(let status, _, _) where status == refusal || status == 401:
            throw CommandError(
                .configuration,
                "Apple's export service does not accept the export token of \(token.app) (\(status)).",
                hint: "Make one in Apple's console, and run 'carillon metrics set-token \(token.app.shellQuoted)'."
            )
        case .answered(400, _, let body):
            let reason = excerpt(String(decoding: body, as: UTF8.self))
            throw CommandError(.configuration, "Apple's export service refuses the request (400): \(reason)")
        case .answered(let status, _, _):
            throw CommandError(.unavailable, "Apple's export service answered \(status).")
        }
    }

    private func failure(_ what: String) -> CommandError {
        CommandError(.failed, "Apple's export service \(what).")
    }

    /// For a terminal. Whoever is asked could send the token back. By bytes: a character may be all of the text.
    private func excerpt(_ text: String) -> String {
        let bytes = Array(text.utf8).replacing(Array(token.token.utf8), with: Array("***".utf8))
        return String(decoding: bytes.prefix(Self.maxExcerpt), as: UTF8.self).visible
    }
}
