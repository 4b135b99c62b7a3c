import CarillonText
import CarillonWeb

/// The state of a page at one moment, for a browser that keeps it open.
struct LivePage: Sendable {
    let title: String
    let content: String
    /// The number of seconds after which it may have changed; nil if it does not change by itself.
    let refreshInterval: Int?

    init(_ view: any PageView, _ viewer: Viewer) {
        title = PageFrame.title(of: view)
        content = PageFrame.content(of: view, viewer, notice: nil).markup
        refreshInterval = view.refreshInterval
    }

    /// The page as a server-sent event.
    var event: String {
        let data: JSONValue = ["title": title, "every": refreshInterval, "content": content]
        return "data: " + data.text + "\n\n"
    }
}
