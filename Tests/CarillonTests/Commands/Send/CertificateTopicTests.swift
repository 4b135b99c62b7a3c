import ApplePushSimulator
import TestSupport
import Testing

/// The sections of docs/push-types.md about topics that have a certificate of their own, with the simulator.
@Suite struct CertificateTopicTests {
    @Test(arguments: [("## Device management (MDM)", "mdm"), ("## Passes in Wallet", "alert")])
    func `the commands of the page send a push that the simulator accepts, with no other certificate`(
        heading: String,
        pushType: String
    ) async throws {
        let page = try GeneratedPage("docs/push-types.md").text
        let section = try #require(page.split(separator: heading).last?.split(separator: "\n## ").first)
        let topic = String(try #require(section.firstMatch(of: #/--topic (\S+)/#)).output.1)
        let commands = try #require(section.firstMatch(of: #/```sh\n([^`]*)```/#)).output.1.split(separator: "\n")
        let statement = String(try #require(section.firstMatch(of: #/```sql\n([^`]*)```/#)).output.1)
        try await Shop.with { shop in
            // The certificate of another topic, and then the right one.
            for (place, named) in ["com.example.other", topic].enumerated() {
                let issued = try shop.gateway.issueCertificate(topics: [named])
                let pem = try shop.folder.write("\(place).pem", issued.certificate + issued.privateKey)
                for command in commands {
                    var words = command.split(separator: " ").dropFirst().map {
                        $0.hasSuffix(".pem") ? pem : String($0)
                    }
                    if words.starts(with: ["app", "add"]) {
                        if place > 0 { continue }
                        let root = try shop.folder.write("root.pem", shop.gateway.rootPEM)
                        words += ["--gateway", "localhost:\(shop.gateway.port)", "--gateway-ca", root]
                    } else {
                        words.append("--yes")
                    }
                    let run = try await shop.run(words)
                    #expect(run.status == 0, "\(words): \(run.errors)")
                }
                try await shop.database.run(statement)
                _ = try await shop.drain()
                try await shop.database.run("UPDATE carillon.apps SET paused = false")
            }
            let requests = await shop.gateway.receivedRequests()
            #expect(requests.map(\.reason) == ["TopicDisallowed", nil], "\(requests)")
            #expect(requests.last?.topic == topic && requests.last?.pushType == pushType)
            let payload = String(decoding: requests.last?.payload ?? [], as: UTF8.self)
            #expect(section.contains("\n\n\(payload)\n```"), "\(payload)")
        }
    }
}
