import CarillonText
import CarillonWeb

/// The content of a page: its init reads everything, then it is written as HTML or JSON without further queries.
protocol PageView: JSONConvertible, Sendable {
    var title: String { get }
    /// The section of the navigation to which the page belongs.
    var section: PageSection { get }
    /// How often an open page is refreshed, in seconds; nil if never.
    var refreshInterval: Int? { get }
    /// The content, with the forms that the viewer may use.
    @HTMLBuilder func content(for viewer: Viewer) -> HTML
}

extension PageView {
    var refreshInterval: Int? { nil }
}
