import CarillonText
import CarillonWeb

/// What a page shows: filled by a query, and written as HTML or as JSON without any further look at the database.
protocol PageView: JSONConvertible, Sendable {
    var title: String { get }
    /// The section of the navigation that it belongs to.
    var section: PageSection { get }
    /// How often the page looks again while it is seen, in seconds; nil: not by itself.
    var refreshInterval: Int? { get }
    /// What everybody sees.
    @HTMLBuilder var content: HTML { get }
    /// The same, with the forms of those who may change something.
    @HTMLBuilder func content(for viewer: Viewer) -> HTML
}

extension PageView {
    var content: HTML { .nothing }
    func content(for viewer: Viewer) -> HTML { content }
}
