import CarillonHTTPClient
import CarillonIO
import CarillonText

/// Asks Apple's export service for a file: requests it, asks for its state until it is there, and downloads it.
struct ExportClient: Sendable {
    static let service = "https://api.icloud.apple.com"
    private static let tokenHeader = "X-Apple-CloudKit-Management-Token"
    private static let timeout = Duration.seconds(30)
    private static let longestDownload = Duration.seconds(300)
    private static let maxAnswerBytes = 65_536
    /// A month of all push types is a hundredth of it.
    private static let maxFileBytes = 16 << 20
    private static let minutesOfURL = 60

    let client: HTTPClient
    let service: ServiceURL
    /// As PEM; nil: those that the system trusts.
    let roots: String?
    let allowsPrivate: Bool
    /// How long to wait until the file is there.
    let wait: Duration
    let loop: EventLoop

    /// - Parameters:
    ///   - first, last: The days. With the same ones, Apple's answer within a day is the same export.
    func file(for token: MetricsStore.ExportToken, from first: String, to last: String) async throws -> [UInt8] {
        guard let topic = token.topic, topic.utf8.allSatisfy({ $0.isLetterOrDigit || "._-".utf8.contains($0) }) else {
            throw CommandError(.configuration, "The app \(token.app) has no topic that is a bundle ID.")
        }
        let rules = ExportRules(service: service, token: token, allowsPrivate: allowsPrivate)
        let path = "/v1/dataExports/apns/teams/\(token.teamID)/appId/\(topic)/datasetName/deliverymetrics/request"
        let body: JSONValue = [
            "startDate": first, "endDate": last, "dataDownloadUrlExpiresInMinutes": Self.minutesOfURL,
        ]
        let url = try rules.statusURL(await send(service.origin + path, with: token, body))
        let deadline = MonotonicInstant.now + wait
        var backOff = BackOff(from: .seconds(1), to: .seconds(30))
        var random = SystemRandomNumberGenerator()
        while true {
            switch try rules.state(await send(url.text, with: token)) {
            // It may be of another server, which does not get the token.
            case .ready(let url): return try rules.body(await send(url.text, with: nil))
            case .processing:
                let next = MonotonicInstant.now + backOff.next(using: &random)
                guard next < deadline else {
                    throw CommandError(
                        .tryAgain,
                        "Apple is still making the export of the metrics of \(token.app).",
                        hint: "Run the command again: within a day, it asks for the same export."
                    )
                }
                try await loop.sleep(until: next)
            }
        }
    }

    /// - Parameters:
    ///   - token: nil for a file, which needs none.
    ///   - body: of a POST request.
    private func send(
        _ url: String,
        with token: MetricsStore.ExportToken?,
        _ body: JSONValue? = nil
    ) async -> HTTPOutcome {
        let headers = [("Content-Type", "application/json")] + (token.map { [(Self.tokenHeader, $0.token)] } ?? [])
        return await client.send(
            HTTPRequest(
                to: url,
                headers: headers,
                body: body.map { Array($0.text.utf8) },
                roots: roots,
                allowsPrivate: allowsPrivate,
                timeout: token == nil ? Self.longestDownload : Self.timeout,
                maxAnswerBytes: token == nil ? Self.maxFileBytes : Self.maxAnswerBytes
            )
        )
    }
}
