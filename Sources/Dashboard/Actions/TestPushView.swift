import ApplePush
import CarillonPostgres
import CarillonSchema
import CarillonTLS
import CarillonText
import CarillonWeb

/// The form for a test push, and a preview of what would be sent.
struct TestPushView: PageView {
    struct Preview: Record {
        let payload: String
        let bytes: Int64
        let maxBytes: Int64
        let pushType: String
        let priority: Int64
        let json: JSONValue
        let topic: String?
    }

    private static let names = Statement(
        "web_app_names",
        "SELECT a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.maxApps)"
    )

    let push: TestPush
    let apps: [String]
    var preview: Preview?
    /// Why devices would ignore this push.
    var notices: [String] = []
    var complaint: String?
    /// New for each page, because the form may be changed into another push.
    private let key = "test-push-" + SystemRandom.bytes(16).hexadecimal

    init(_ push: TestPush, from database: ServiceRunner) async throws {
        self.push = push
        apps = try await database.values(of: Self.names)
    }

    var title: String { "Send a test push" }
    var section: PageSection { .test }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if let complaint { HTML(.p, .class("notice bad"), Attribute(.role, "alert")) { complaint } }
        if !viewer.mayChange {
            HTML(.p, .class("notice")) { RequestError.mayNotChange(viewer).text }
        } else if apps.isEmpty {
            HTML(.p) { "There are no apps yet: add one with 'carillon app add'." }
        } else {
            ActionForm.html(PageSection.test.link, viewer, class: "sheet", hidden: ["key": key]) {
                fields
                HTML(.p, .class("buttons")) {
                    ActionForm.button("Preview", name: "preview")
                    if preview != nil { ActionForm.button("Send", isDangerous: true, name: "send") }
                }
            }
            if let preview { sight(of: preview) }
        }
    }

    @HTMLBuilder private var fields: HTML {
        HTML(.div, .class("filters")) {
            ActionForm.choice("App", "app", apps.map { ($0, $0) }, chosen: push.app)
            ActionForm.field("Device token", "token", value: push.token, maxLength: 600, isWide: true)
        }
        HTML(.div, .class("filters")) {
            ActionForm.field("Title", "title", value: push.title, maxLength: 1_000)
            ActionForm.field("Text", "text", value: push.text, maxLength: 4_000, isWide: true)
            ActionForm.field("Badge", "badge", value: push.badge, type: "number")
            ActionForm.field("Sound", "sound", value: push.sound, note: "default")
        }
        HTML(.details, .class("more")) {
            HTML(.summary) { "Headers and whole payload" }
            HTML(.div, .class("filters")) {
                ActionForm.choice(
                    "Push type",
                    "push_type",
                    [("", "automatic")] + PushType.all.map { ("\($0)", "\($0)") },
                    chosen: push.pushType
                )
                ActionForm.choice(
                    "Priority",
                    "priority",
                    [("", "default"), ("10", "10, at once"), ("5", "5, sparing power"), ("1", "1, low")],
                    chosen: push.priority
                )
                ActionForm.field("Collapse id", "collapse_id", value: push.collapseID, maxLength: 64)
            }
            HTML(.label, .class("wide")) {
                "Payload, in place of title, text, badge and sound (leave these empty)"
                HTML(.textarea, Attribute(.name, "payload"), Attribute(.rows, 6), Attribute(.spellcheck, "false")) {
                    push.payload ?? ""
                }
            }
        }
    }

    @HTMLBuilder private func sight(of preview: Preview) -> HTML {
        HTML(.h2) { "What goes out" }
        for notice in notices { HTML(.p, .class("notice")) { notice } }
        FactList(
            ("Size", HTML("\(Int(preview.bytes).grouped) of \(Int(preview.maxBytes).grouped) bytes")),
            ("apns-push-type", HTML(preview.pushType)),
            ("apns-priority", HTML(String(preview.priority))),
            ("apns-topic", HTML(preview.topic ?? "the certificate's")),
            ("apns-collapse-id", push.collapseID.map { HTML($0) })
        ).html
        HTML(.pre, .class("payload")) { HTML(.code) { preview.payload } }
    }

    var json: JSONValue {
        let page: JSONValue = [
            "apps": apps, "apps_precision": Amount.Precision(isCut: apps.count == ReadDepth.maxApps),
            "preview": preview,
        ]
        return notices.isEmpty ? page : .joined(page, ["notices": notices])
    }
}
