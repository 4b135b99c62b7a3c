import CarillonText
import CarillonWeb

/// Offers a choice if several apps have a message with this id.
struct MessageChoiceView: PageView {
    let id: Int64
    let apps: [String?]

    var title: String { "Message \(id)" }
    var section: PageSection { .trace }

    func content(for viewer: Viewer) -> HTML {
        HTML(.section) {
            HTML(.p) { "Several apps have a message of this id. Choose one:" }
            HTML(.ul) {
                for app in apps.compactMap({ $0 }) {
                    HTML(.li) { HTML(.a, .href(Link.message(id, of: app))) { app } }
                }
            }
        }
    }

    var json: JSONValue { ["id": id, "apps": apps.compactMap { $0 }] }
}
