/// The addresses of the dashboard to measure: those named here, and one of each further kind that the pages link to.
struct WebAddresses {
    private(set) var all: [String]
    /// The bytes that a page loads: its style sheet and its script.
    private(set) var assetBytes = 0
    private var kinds: Set<String> = []

    init(_ fill: WebFill, _ client: WebClient) async throws {
        all = try await Self.named(fill)
        for address in all { kinds.insert(Self.kind(of: address)) }
        var index = 0
        while index < all.count {
            let answer = try await client.get(all[index])
            for match in answer.body.matches(of: #/(?:href|src)="(/[^"]*)"/#) {
                let link = String(match.output.1).replacing("&amp;", with: "&")
                guard kinds.insert(Self.kind(of: link)).inserted else { continue }
                if link.hasPrefix("/assets/") {
                    assetBytes += try await client.get(link).bytes
                } else {
                    all.append(link)
                }
            }
            index += 1
        }
    }

    /// The path without its names and numbers, and the names of the parameters.
    private static func kind(of address: String) -> String {
        let parts = address.split(separator: "?", maxSplits: 1)
        let path = parts[0].split(separator: "/").enumerated().map { index, part in
            let isNamed = ["/apps/", "/messages/", "/webhooks/"].contains { parts[0].hasPrefix($0) }
            return index == 1 && isNamed ? "*" : String(part)
        }
        let query = parts.count > 1 ? parts[1].split(separator: "&") : []
        let names = query.map { pair in String(pair.prefix { $0 != "=" }) }
        return "/" + path.joined(separator: "/") + "?" + names.sorted().joined(separator: "&")
    }

    /// Pages whose cost depends on their subject: the largest app and a small one, messages in each state, whole broadcasts, and
    /// searches that find something early, late or not at all.
    private static func named(_ fill: WebFill) async throws -> [String] {
        let (installation, app) = (fill.installation, fill.installation.app)
        func id(_ sql: String) async throws -> Int { try await installation.number(sql) }
        let sent = try await id(
            "SELECT r.message_id FROM carillon.results r WHERE r.app_id = \(app) AND r.failed = 0 LIMIT 1"
        )
        let failed = try await id(
            """
            SELECT f.message_id FROM carillon.failures f WHERE f.app_id = \(app) AND f.reference IS NOT NULL
            ORDER BY f.failed_at DESC LIMIT 1
            """
        )
        let ready = try await id(
            "SELECT m.id FROM carillon.messages m WHERE m.app_id = \(app) AND m.lane = 1 ORDER BY m.id DESC OFFSET 1000 LIMIT 1"
        )
        let inFlight = try await id("SELECT p.id FROM carillon.pending p WHERE p.state = 'in flight' LIMIT 1")
        let retrying = try await id(
            "SELECT s.origin FROM carillon.scheduled s WHERE s.app_id = \(app) AND s.attempt > 1 LIMIT 1"
        )
        let due = try await id(
            "SELECT m.origin FROM carillon.messages m WHERE m.app_id = \(app) AND m.attempt > 1 ORDER BY m.id LIMIT 1"
        )
        let underWay = try await id("SELECT max(b.id) FROM carillon.split_messages b")
        let broadcast = try await id("SELECT min(b.id) FROM carillon.split_messages b")
        let news = fill.newsName.replacing(" ", with: "%20")
        let webhook = WebFill.webhook
        let small = fill.smallName.replacing(" ", with: "%20")
        return [
            "/", "/?over=day", "/apps", "/apps/bench", "/apps/bench?over=day", "/apps/\(small)",
            "/apps/\(news)?over=day",
            "/webhooks/\(webhook)", "/webhooks/\(webhook)/redeliver?since=1h",
            "/trace", "/trace?q=\(sent)", "/trace?q=\(failed)", "/trace?q=order+\(failed)",
            "/trace?q=waiting+\(fill.rows)", "/trace?q=nothing", "/trace?q=\(String(repeating: "ab", count: 32))",
            "/trace?q=order+\(failed)&by=reference&app=bench&since=7d", "/trace?q=nobody&by=owner&app=bench",
            "/trace?q=\(ready)&by=message&app=bench",
            "/messages/\(sent)", "/messages/\(failed)", "/messages/\(ready)", "/messages/\(inFlight)",
            "/messages/\(retrying)", "/messages/\(due)", "/messages/\(underWay)", "/messages/\(broadcast)",
            "/messages/\(underWay)/cancel?app=\(news)",
            "/failures", "/failures?since=7d", "/failures?app=bench&since=7d", "/failures?dismissed=1",
            "/failures?app=bench&reason=Nothing&since=7d", "/failures?app=\(small)&reason=BadDeviceToken",
            "/failures/requeue?app=bench&since=7d", "/failures/dismiss?app=bench&since=7d",
            "/failures/dismiss?app=bench&reason=Nothing&since=7d",
            "/broadcasts", "/scheduled", "/scheduled?app=\(small)", "/scheduled?only=retries", "/tokens", "/channels",
            "/activities", "/workers", "/credentials", "/test", "/changes", "/changes?app=bench+1",
        ]
    }
}
