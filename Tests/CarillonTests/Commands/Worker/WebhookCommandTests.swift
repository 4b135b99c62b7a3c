import CarillonIO
import Glibc
import TestSupport
import Testing

/// Webhooks as an operator adds them, and as a worker posts them.
@Suite(.shop) struct WebhookCommandTests {
    @Test func `a worker posts what becomes of pushes to a webhook, with the secret that was printed`() async throws {
        let requests = Guarded([WebhookRequest]())
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                requests.withLock { $0.append(request) }
                try await line.respond(200)
            }
        } test: { receiver, port in
            let root = try shop.folder.write("root.pem", receiver.rootPEM)
            let url = "https://127.0.0.1:\(port)/hook"
            let added = try await shop.run(
                ["webhook", "add", "crm", "--app", "shop", "--url", url, "--ca", root, "--allow-private"]
            )
            #expect(added.status == 0 && added.output.hasPrefix("whsec_"), "\(added.output) \(added.errors)")
            #expect(!added.errors.contains("whsec_"))
            try await shop.enqueue(1)
            #expect(try await shop.drain().status == 0)
            let bodies = requests.withLock { $0.map(\.body) }
            #expect(
                bodies.contains { $0.contains("\"kind\":\"sent\"") && $0.contains("\"kind\":\"finished\"") },
                "\(bodies)"
            )
            let shown = try await shop.run("webhook", "show", "crm")
            #expect(shown.status == 0 && shown.output.contains(url), "\(shown.output)")
            #expect(shown.output.contains("0 events wait") && !shown.output.contains("whsec_"), "\(shown.output)")
        }
    }

    @Test func `a running worker posts to a webhook that is added later, and says that it was paused`() async throws {
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while try await line.nextWebhookRequest() != nil { try await line.respond(410) }
        } test: { receiver, port in
            let root = try shop.folder.write("root.pem", receiver.rootPEM)
            let worker = try shop.start("worker")
            try await TestLoop.with { loop in
                _ = try await worker.line(containing: "has started", on: loop)
                let words = [
                    "webhook", "add", "crm", "--app", "shop", "--url", "https://127.0.0.1:\(port)/", "--ca", root,
                ]
                #expect(try await shop.run(words + ["--allow-private"]).status == 0)
                try await shop.enqueue(1)
                let line = try await worker.line(containing: "A webhook was paused", on: loop)
                #expect(line.contains("webhook_paused") && line.contains("410"), "\(line)")
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
            let paused = try await shop.run("webhook", "list").output
            #expect(paused.contains("paused") && paused.contains("by a worker: the receiver answered 410"), "\(paused)")
            for (verb, sentence) in [
                ("pause", "The webhook crm was already paused."), ("resume", "Resumed the webhook crm."),
                ("resume", "The webhook crm was not paused, and no attempt was delayed."),
            ] {
                let said = try await shop.run("webhook", verb, "crm")
                #expect(said.status == 0 && said.output == sentence + "\n", "\(said.output) \(said.errors)")
            }
            // The list, the page of a webhook and its JSON read the state of the same view: it has not worked since.
            let resumed = try await shop.run("webhook", "list").output
            #expect(resumed.contains("failing") && resumed.contains("the receiver answered 410"), "\(resumed)")
            let shown = try await shop.run("webhook", "show", "crm").output
            #expect(shown.contains("failing since ") && shown.contains("the receiver answered 410"), "\(shown)")
            #expect(try await shop.run("webhook", "list", "--json").output.contains("\"state\":\"failing\""))
            let removed = try await shop.run("webhook", "remove", "crm", "--yes")
            #expect(removed.status == 0 && removed.output.contains("Removed"), "\(removed.errors)")
            #expect(try await shop.run("webhook", "show", "crm").status == 1)
        }
    }

    @Test func `a worker with a proxy reaches no receiver without it, whatever no_proxy says`() async throws {
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while try await line.nextWebhookRequest() != nil { try await line.respond(200) }
        } test: { receiver, port in
            let root = try shop.folder.write("root.pem", receiver.rootPEM)
            let url = "https://localhost:\(port)/"
            let added = try await shop.run(["webhook", "add", "crm", "--app", "shop", "--url", url, "--ca", root])
            #expect(added.status == 0, "\(added.errors)")
            try await shop.enqueue(1)
            let worker = try await ProgramRun.run(
                ["worker", "--once", "--webhook-proxy", "http://127.0.0.1:1"],
                environment: ["DATABASE_URL": shop.database.url, "no_proxy": "*"]
            )
            #expect(worker.status == 0, "\(worker.errors)")
            let shown = try await shop.run("webhook", "show", "crm")
            #expect(
                shown.output.contains("the request to the receiver failed: it cannot be reached"),
                "\(shown.output)"
            )
            #expect(receiver.connections == 0)
        }
    }

    @Test func `a URL that is not allowed is refused, with what is`() async throws {
        let words = ["webhook", "add", "crm", "--app", "shop", "--url"]
        for url in ["http://example.com/", "https://user:secret@example.com/", "example.com"] {
            let refused = try await shop.run(words + [url])
            #expect(refused.status != 0 && refused.errors.contains("https URL"), "\(url): \(refused.errors)")
            #expect(!refused.errors.contains("secret@"))
        }
        for url in ["https://127.0.0.1:8080/", "https://10.0.0.7/hook", "https://[::1]:8080/", "https://[fd12::1]/"] {
            let refused = try await shop.run(words + [url])
            #expect(refused.status == 1 && refused.errors.contains("'--allow-private'"), "\(url): \(refused.errors)")
        }
        #expect(try await shop.run("webhook", "list").output == "There are no webhooks.\n")
        let unknown = try await shop.run("webhook", "pause", "crm")
        #expect(unknown.status != 0 && unknown.errors.contains("'carillon webhook list' lists them"), "\(unknown)")
        for status in [0, 1] {
            let added = try await shop.run(words + ["https://example.com/"])
            #expect((added.status == 0) == (status == 0), "\(added.errors)")
            let isNamed = added.errors.contains("Remove that one with 'carillon webhook remove'")
            #expect(isNamed == (status == 1), "\(added.errors)")
        }
        let times = try await (shop.run("webhook", "show", "crm"), shop.run("webhook", "list"))
        #expect(!times.0.output.contains(" UTC") && !times.1.output.contains(" UTC"), "\(times)")
    }
}
