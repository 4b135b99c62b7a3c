import CarillonText
import CarillonWeb

/// A page as it is at one moment, for one who keeps it open.
struct LivePage: Sendable {
    let title: String
    let content: String
    /// When it may have changed, in seconds; nil: it does not by itself.
    let refreshInterval: Int?

    init(_ view: any PageView, _ viewer: Viewer) {
        title = PageFrame.title(of: view)
        content = PageFrame.content(of: view, viewer, notice: nil).markup
        refreshInterval = view.refreshInterval
    }

    /// As a server-sent event.
    var event: String {
        let data: JSONValue = ["title": title, "every": refreshInterval, "content": content]
        return "data: " + data.text + "\n\n"
    }
}
