import ApplePushSimulator
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePush

/// Certificates that change, expire, or are refused, while their app has pushes to send.
@Suite struct CertificateCases {
    /// How long it may take until a changed credential or gateway is used, and all that waited is sent.
    private static let soon = Board.sized(Duration.seconds(60), full: .seconds(10))

    @Test func `D18: a replaced certificate is used at once, and the old connection drains`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            _ = try await scene.fleet.started(["--connections", "1", "--max-in-flight", "200"], lease: Fleet.calm)
            try await scene.underLoad {
                try await scene.requests(500)
                for round in 1...2 {
                    try await scene.replaceCertificate(
                        name: "round \(round)",
                        within: Board.sized(.seconds(60), full: .seconds(5))
                    )
                    var open = 0
                    try await scene.eventually("only the new one is open, not \(open)") {
                        open = await scene.simulator.statistics().openConnections
                        return open == 1
                    }
                    let sent = scene.record.requests
                    try await scene.requests(sent + 200)
                }
            }
            try await scene.credential(is: "ok")
            #expect(try await scene.credential("topics") == "{\(Scene.topic)}")
            #expect(try await scene.credential("not_after > now() + interval '31 days'") == "true")
            #expect(try await scene.finish().outcomes.failures.isEmpty)
        }
    }

    @Test(.scene)
    func `N13: an expired certificate pauses its app, SQL says why, and a new one resumes it`() async throws {
        let old = try scene.simulator.issueCertificate(topics: [Scene.topic], isExpired: true)
        try await scene.write(old.certificate, old.privateKey)
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        try await worker.says("A certificate has expired")
        #expect(try await scene.credential("status") == "expired")
        try await scene.enqueue(50)
        try await scene.credential(is: "rejected")
        let reason = "the certificate that it received has expired"
        #expect(try await scene.credential("last_error").contains(reason))
        #expect(try await scene.status("credential_status") == "expired")
        #expect(try await scene.status("credential_error").contains(reason))
        #expect(try await scene.status("credential_not_after < now()") == "true")
        // The handshake fails, so nothing is sent; the attempts follow at growing intervals.
        #expect(scene.record.requests == 0)
        let tries = await scene.simulator.statistics().failedHandshakes
        let rests = worker.lines(containing: "next_attempt_in").count
        #expect((1...rests + 1).contains(tries), "\(tries), \(rests) rests")
        let issued = try scene.simulator.issueCertificate(topics: [Scene.topic])
        try await scene.write(issued.certificate, issued.privateKey)
        try await scene.eventually("all were sent", within: Self.soon) {
            try await scene.client.number("SELECT count(*) FROM carillon.pending") == 0
        }
        try await scene.credential(is: "ok")
        #expect(try await scene.credential("last_error") == "")
        #expect(try await scene.finish().outcomes.failures.isEmpty)
    }

    @Test(.scene)
    func `N13, N17: an unreadable credential holds its app, SQL says why, and a good one resumes it`() async throws {
        try await scene.addApp("other", topic: Scene.topic, to: scene.simulator)
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        let good = try scene.simulator.issueCertificate(topics: [Scene.topic])
        let stranger = try scene.simulator.issueCertificate(topics: [Scene.topic])
        let flaws = UnreadableCredential.all(beside: good.certificate, stranger.privateKey)
        for (number, flaw) in flaws.enumerated() {
            try await scene.client.run(flaw.update(of: Scene.app))
            try await scene.eventually("the row says '\(flaw.sentence)'") {
                try await scene.credential("last_error").contains(flaw.sentence)
            }
            #expect(try await scene.credential("status") == "invalid")
            #expect(try await scene.status("credential_status") == "invalid")
            let error = try await scene.status("credential_error")
            #expect(error.contains(flaw.sentence))
            #expect(!error.contains(UnreadableCredential.secret))
            try await scene.enqueue(10)
            try await scene.enqueue(10, app: "other")
            try await scene.requests((number + 1) * 10)
        }
        #expect(scene.record.requests == flaws.count * 10, "all of them the other app's")
        #expect(worker.isRunning)
        #expect(!worker.said.contains(UnreadableCredential.secret))
        try await scene.write(good.certificate, good.privateKey)
        try await scene.drained(within: Self.soon)
        try await scene.credential(is: "ok")
        #expect(try await scene.credential("last_error") == "")
        #expect(try await scene.finish().outcomes.failures.isEmpty)
    }

    @Test(.scene)
    func `N13: a certificate that is refused in the handshake pauses its app, until a gateway accepts it`()
        async throws
    {
        try await RefusingGateway.with(on: scene.loop) { refusing, port in
            try await scene.client.run(
                """
                UPDATE carillon.apps SET gateway = 'localhost:\(port)',
                    gateway_ca = \(OddRow.quoted(refusing.rootPEM))
                """
            )
            _ = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(50)
            try await scene.credential(is: "rejected")
            #expect(try await scene.credential("last_error").contains("TLS alert"))
            #expect(try await scene.status("credential_status") == "rejected")
            #expect(refusing.tries < 10, "it is tried again, slowly")
            try await scene.client.run(
                """
                UPDATE carillon.apps SET gateway = 'localhost:\(scene.simulator.port)',
                    gateway_ca = \(OddRow.quoted(scene.simulator.rootPEM))
                """
            )
            try await scene.eventually("all were sent", within: Self.soon) {
                try await scene.client.number("SELECT count(*) FROM carillon.pending") == 0
            }
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            #expect(try await scene.credential("status") == "ok")
        }
    }

    @Test func `A1: a refused signing key pauses its app, and the right one resumes it`() async throws {
        let right = try SigningKey.generate()
        try await Scene.with({
            $0.providerKeys = [try ProviderKey(pem: right.pem, keyID: Scene.keyID, teamID: Scene.teamID)]
        }) { scene in
            try await scene.sign(with: try SigningKey.generate())
            _ = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(50)
            try await scene.credential(is: "rejected")
            #expect(try await scene.credential("last_error").contains("InvalidProviderToken"))
            #expect(scene.record.requests < 20)
            try await scene.sign(with: right)
            try await scene.eventually("all were sent", within: Self.soon) {
                try await scene.client.number("SELECT count(*) FROM carillon.pending") == 0
            }
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            #expect(try await scene.credential("status") == "ok")
        }
    }

    @Test(.scene)
    func `N13: a certificate that expires soon is a warning in the log, the metrics and the tables`() async throws {
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        let now = Int64(try await scene.client.number("SELECT extract(epoch FROM now())"))
        let issued = try CertificateAuthority(name: "Soon").issue(
            commonName: "Ends soon",
            topics: [Scene.topic, "\(Scene.topic).voip"],
            notAfter: now + 29 * 86_400 + 3600
        )
        try await scene.write(issued.certificatePEM, issued.privateKeyPEM)
        try await worker.says("A certificate expires soon")
        #expect(worker.lines(containing: #""days_left":29"#).count == 1)
        try await scene.credential(is: "expiring")
        #expect(try await scene.status("credential_status") == "expiring")
        #expect(try await scene.credential("topics") == "{\(Scene.topic),\(Scene.topic).voip}")
        try await scene.eventually("the metrics say so") {
            let left = try await worker.metric("carillon_credential_expiry_seconds")
            return left > 28 * 86_400 && left < 30 * 86_400
        }
        // A certificate that was good when it was read expires with time.
        try await scene.client.run("UPDATE carillon.certificates SET status = 'ok'")
        #expect(try await scene.status("credential_status") == "expiring")
        try await scene.credential(is: "expiring")
        try await scene.enqueue(20)
        try await scene.finish()
    }

    @Test(.scene)
    func `N21: a certificate whose key is too small for OpenSSL holds its app and is named, not the gateway`()
        async throws
    {
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        try await scene.client.run(
            """
            UPDATE carillon.certificates SET certificate = \(OddRow.quoted(TestKeys.smallRSA)), private_key = NULL
            WHERE name = '\(Scene.app)'
            """
        )
        try await scene.credential(is: "invalid")
        try await scene.enqueue(20)
        #expect(try await scene.credential("last_error").contains("the RSA key of 1024 bits of CN=Small"))
        #expect(try await scene.status("credential_status") == "invalid")
        #expect(await scene.simulator.statistics().failedHandshakes == 0)
        #expect(worker.lines(containing: "There is no connection").isEmpty)
        let good = try scene.simulator.issueCertificate(topics: [Scene.topic])
        try await scene.write(good.certificate, good.privateKey)
        try await scene.drained(within: Self.soon)
        try await scene.credential(is: "ok")
        #expect(try await scene.finish().outcomes.failures.isEmpty)
    }

    @Test(.scene) func `N22: an ambiguous TLS alert does not pause an app with a signing key`() async throws {
        try await scene.sign(with: try SigningKey.generate())
        let alert: [UInt8] = [0x15, 3, 3, 0, 2, 2, 40]  // handshake_failure
        try await Reception.with(on: scene.loop) { [scene] _, descriptor in
            let socket = Socket(owning: descriptor)
            _ = try socket.write(alert.span.bytes)
            socket.closeWriting()
            _ = try await scene.loop.readiness(
                of: socket.descriptor,
                for: .read,
                until: .now + .seconds(10),
                doing: "waiting for the client"
            )
        } test: { reception, port in
            try await scene.client.run("UPDATE carillon.apps SET gateway = 'localhost:\(port)'")
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(50)
            try await worker.says("it may require a certificate and have received none")
            #expect(try await scene.credential("status") != "rejected")
            #expect(!worker.said.contains("refused the credential"))
            try await scene.client.run("UPDATE carillon.apps SET gateway = 'localhost:\(scene.simulator.port)'")
            try await scene.drained(within: Board.sized(.seconds(60), full: .seconds(20)))
            #expect(try await scene.finish().outcomes.failures.isEmpty)
        }
    }

    @Test(.scene)
    func `A11: huge texts in place of credentials or trust roots cost no worker its lease`() async throws {
        let worker = try await scene.fleet.started()
        let pieces = ["-----BEGIN A-----\n", "-----BEGIN ", "-----BEGIN A-----\n-----END B-----\n", "-", "MIIBvTCC\n"]
        for (number, piece) in pieces.enumerated() {
            func text(of length: Int) -> String {
                "rpad('', \(length), \(OddRow.quoted(piece)))"
            }
            try await scene.client.run(
                """
                INSERT INTO carillon.certificates (name, certificate, private_key)
                VALUES ('large \(number)', \(text(of: 65_536)), \(text(of: 65_536)));
                INSERT INTO carillon.apps (name, topic, certificate_id)
                SELECT 'large \(number)', 'com.example.large', c.id FROM carillon.certificates c
                WHERE c.name = 'large \(number)';
                INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
                SELECT 'large root \(number)', a.topic, a.certificate_id, a.gateway, \(text(of: 262_144))
                FROM carillon.apps a WHERE a.name = '\(Scene.app)';
                SELECT carillon.enqueue('large \(number)', ARRAY[repeat('ab', 32)], 'x');
                SELECT carillon.enqueue('large root \(number)', ARRAY[repeat('ab', 32)], 'x')
                """
            )
            try await scene.enqueue(20)
            try await scene.requests(20 * (number + 1))
            try await worker.says("large root \(number)")
            try await scene.eventually("row \(number) says that it is no credential") {
                try await scene.client.text(
                    "SELECT c.status FROM carillon.certificates c WHERE c.name = 'large \(number)'"
                ) == "invalid"
            }
        }
        let roots = worker.lines(containing: "large root")
        #expect(roots.allSatisfy { $0.contains("root certificate") }, "\(roots)")
        #expect(worker.isRunning)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.workers") == 1)
        #expect(worker.lines(containing: "lease").isEmpty, "\(worker.lines(containing: "lease"))")
        #expect(scene.record.requests == 20 * pieces.count, "all of them the good app's, each once")
        try await scene.client.run("DELETE FROM carillon.apps WHERE name LIKE 'large%'")
        try await scene.drained()
        #expect(try await scene.fleet.stop() == [])
    }
}
