import CarillonSchema
import CarillonText
import CarillonWeb

struct CancelView: PageView {
    let message: MessageStatus

    var title: String { "Cancel message \(message.id)" }
    var section: PageSection { .broadcasts }

    private var link: Link { Link.message(message.id, of: message.app) }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if message.waiting == 0 {
            HTML(.p, .class("notice")) { "It has ended (\(message.counts)): nothing is left to cancel." }
        } else {
            HTML(.p) {
                "\(Counted.text(Int64(message.waiting), "push", "pushes")) of \(Int(message.tokens).grouped) "
                    + "\(message.waiting == 1 ? "has" : "have") not ended. "
                    + "If you cancel, jobs that no worker has claimed are not sent. Pushes in flight may arrive and are not retried."
            }
            if viewer.mayChange, let app = message.app {
                ActionForm.html(Link("messages", String(message.id), "cancel"), viewer, hidden: ["app": app]) {
                    ActionForm.button("Cancel what is left", isDangerous: true)
                }
            } else if !viewer.mayChange {
                HTML(.p, .class("note")) { viewer.wayToChange }
            }
        }
        HTML(.p) { HTML(.a, .href(link)) { "Back to the message" } }
    }

    var json: JSONValue {
        ["id": message.id, "app": message.app, "waiting": message.waiting, "state": message.state.rawValue]
    }
}
