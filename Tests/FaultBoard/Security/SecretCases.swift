import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePush
@testable import Carillon

/// Secrets that would be found if any part of Carillon printed them.
@Suite struct SecretCases {
    @Test
    func `S1: no log, metric, view or page shows a key, a passphrase, a whole token or a payload, whatever fails`()
        async throws
    {
        let key = try SigningKey.generate()
        try await Scene.with(
            on: .own(.fast),
            {
                $0.answers = [
                    try AnswerRule(parsing: "dead=410:Unregistered"),
                    try AnswerRule(parsing: "bad0=400:BadDeviceToken"),
                ]
                $0.providerKeys = [try ProviderKey(pem: key.pem, keyID: Scene.keyID, teamID: Scene.teamID)]
            }
        ) { scene in
            var secrets = try [try await scene.credential("private_key"), key.pem, TestKeys.encrypted].map(Self.middle)
            secrets += [UnreadableCredential.secret, #"alert":"Board"#, #"alert\":\"Board"#]
            let worker = try await scene.fleet.started(["--log-level", "debug"])
            // Sent with a certificate; then with a signing key, while the database fails; and then not at all.
            for prefix in ["", "dead", "bad0"] { try await scene.enqueue(20, prefix: prefix) }
            try await scene.drained()
            try await scene.sign(with: key)
            try await scene.eventually("the signing key was used") {
                try await scene.enqueue(1)
                return scene.record.deliveries.contains { $0.authorization != nil }
            }
            for prefix in ["", "dead", "bad0"] { try await scene.enqueue(20, prefix: prefix) }
            try await scene.renewSessions()
            try await scene.drained()
            secrets += Set(scene.record.deliveries.compactMap(\.authorization)).flatMap {
                $0.split(separator: " ").suffix(1)
            }
            .map(String.init)
            try await scene.client.run(
                """
                INSERT INTO carillon.certificates (name, certificate, private_key, passphrase)
                VALUES ('spoilt', 'x', \(OddRow.quoted(TestKeys.encrypted)), '\(UnreadableCredential.secret)');
                INSERT INTO carillon.apps (name, topic, certificate_id)
                SELECT 'spoilt', 'com.example.spoilt', c.id FROM carillon.certificates c WHERE c.name = 'spoilt';
                SELECT carillon.enqueue('spoilt', ARRAY[repeat('ab', 32)], 'x')
                """
            )
            try await worker.says(#""app":"spoilt""#)
            secrets += scene.record.deliveries.map(\.token)

            #expect(!secrets.contains(""))
            var said = ["the log": worker.said]
            for path in ["/metrics", "/readyz", "/livez"] { said[path] = try await worker.ask(path).body }
            said["PostgreSQL's log"] = try String(contentsOfFile: scene.cluster.folder + "/server.log", encoding: .utf8)
            said["pg_stat_activity"] = try await scene.client.text(
                "SELECT string_agg(a.query, ' ') FROM pg_stat_activity a WHERE a.application_name LIKE 'carillon%'"
            )
            let message = try await scene.client.number("SELECT min(f.message_id) FROM carillon.failures f")
            try await DashboardClient.with(scene.client.url, in: scene.folder) { dashboard, _ in
                for path in DashboardClient.pages + ["/apps/\(Scene.app)", "/apps/spoilt", "/messages/\(message)"] {
                    said[path + " in the browser"] = await dashboard.get(path).body
                    said[path + " as JSON"] = await dashboard.get(path, json: true).body
                }
            }
            for (speaker, text) in said {
                #expect(!text.isEmpty, "\(speaker) says nothing, so this proves nothing")
                for secret in secrets where text.contains(secret) { Issue.record("I12: \(speaker) says \(secret)") }
            }
            try await scene.client.run("DELETE FROM carillon.messages")
            try await scene.finish()
        }
    }

    /// A line of the contents of a PEM that differs from key to key.
    private static func middle(_ pem: String) throws -> String {
        String(try #require(pem.split(separator: "\n").dropFirst(2).first))
    }
}
