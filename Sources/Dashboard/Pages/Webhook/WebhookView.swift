import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// One webhook: whether it works, what waits for its receiver, and the forms to change that.
struct WebhookView: PageView {
    /// In how many rows its events are counted.
    private static let depth: Int64 = 5_000

    let webhook: WebhookRecord

    init(from database: ServiceRunner, _ request: Request) async throws {
        let name = request.pathParameters["name"] ?? ""
        guard let webhook = try await WebhookRecord.all(named: name, countingTo: Self.depth, from: database).first
        else {
            throw RequestError.notFound("There is no webhook \(name).", hint: "It may have been removed.")
        }
        self.webhook = webhook
    }

    var title: String { "Webhook \(webhook.name)" }
    var section: PageSection { .apps }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class(webhook.state == .active ? "lead" : webhook.state == .paused ? "notice" : "notice bad")) {
            verdict
            " " + webhook.backlog.asSentence
            if webhook.state == .paused {
                " Events are deleted after the retention. When the receiver works again, resume the webhook with "
                HTML(.code) { "carillon webhook resume \(webhook.name.shellQuoted)" }
                "."
            }
        }
        facts
        if viewer.mayChange { controls(viewer) } else { HTML(.p, .class("note")) { viewer.wayToChange } }
        HTML(.p) { HTML(.a, .href(Link("changes", query: ["app": webhook.app]))) { "Changes of its app" } }
    }

    @HTMLBuilder private var verdict: HTML {
        if webhook.state == .active {
            "Its receiver " + (webhook.acceptedAt == nil ? "has accepted nothing yet." : "accepted the last batch.")
        } else {
            "It has been \(webhook.state.rawValue)"
            if let since = webhook.since {
                " since "
                since.html
            }
            ((webhook.state == .paused ? " " : ": ") + (webhook.cause ?? "")).asSentence
        }
    }

    private var facts: HTML {
        FactList(
            ("State", webhook.state.mark.html(webhook.state.rawValue)),
            ("App", HTML.app(webhook.app)),
            ("URL", HTML(.code) { webhook.url }),
            ("Kinds of events", HTML(webhook.kinds?.joined(separator: ", ") ?? "all")),
            ("Events that wait", HTML(webhook.waiting.text)),
            ("Last accepted", webhook.acceptedAt?.html ?? HTML("never")),
            ("Last attempt failed", webhook.failedAt?.html),
            ("Last error", webhook.lastError.map { HTML($0) }),
            ("Attempts of this batch", HTML(Int(webhook.attempts).grouped)),
            ("Next attempt", webhook.nextAttemptAt?.html),
            ("Receiver", HTML(webhook.allowsPrivate ? "may have a private address" : "must have a public address")),
            ("Signed with the old secret until", webhook.oldSecretUntil?.html),
            ("Added", webhook.createdAt.html)
        ).html
    }

    @HTMLBuilder private func controls(_ viewer: Viewer) -> HTML {
        HTML(.h2) { "Change" }
        if webhook.state != .active {
            ActionForm.html(Link("webhooks", webhook.name, "resume"), viewer, class: "filters") {
                ActionForm.button(webhook.state == .paused ? "Resume: post again" : "Attempt now")
            }
        }
        if webhook.state != .paused {
            ActionForm.html(Link("webhooks", webhook.name, "pause"), viewer, class: "filters") {
                ActionForm.field(
                    "Why",
                    "reason",
                    maxLength: Form.reasonLength,
                    isWide: true,
                    note: "shown with the webhook"
                )
                ActionForm.button("Pause: events wait", isDangerous: true)
            }
        }
        HTML(.form, .class("filters"), .action(Link("webhooks", webhook.name, "redeliver")), Attribute(.method, "get"))
        {
            ActionForm.field("Events of the last", "since", maxLength: 40, note: "for example 2h or 3d")
            HTML(.button, Attribute(.type, "submit")) { "Post again …" }
        }
    }

    var json: JSONValue { ["webhook": webhook] }
}
