import CarillonText
import CarillonWeb

/// Explains why there is nothing to show.
struct ErrorView: PageView {
    let error: RequestError

    var title: String { "There is nothing to show" }
    var section: PageSection { .overview }
    var refreshInterval: Int? { error.isPassing ? 5 : nil }

    func content(for viewer: Viewer) -> HTML {
        HTML(.section, .class("error"), Attribute(.role, "alert")) {
            HTML(.h2) { error.detail }
            if let hint = error.hint { HTML(.p) { hint } }
            if error.isPassing { HTML(.p, .class("note")) { "This page tries again every few seconds." } }
        }
    }

    var json: JSONValue { error.json }
}
