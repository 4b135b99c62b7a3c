import CarillonWeb

extension Link {
    static func app(_ name: String) -> Link { Link("apps", name) }

    static func webhook(_ name: String) -> Link { Link("webhooks", name) }

    /// - Parameter app: Several apps may have a message with this id.
    static func message(_ id: Int64, of app: String?) -> Link { Link("messages", String(id), query: ["app": app]) }
}

/// What leads to its own page wherever it is named.
extension HTML {
    static func app(_ name: String) -> HTML { HTML(.a, .href(.app(name))) { name } }

    static func message(_ id: Int64, of app: String?) -> HTML { HTML(.a, .href(.message(id, of: app))) { String(id) } }

    /// The links to other pages of the same rows, without those that have no address.
    static func pager(_ links: (name: String, link: Link?)...) -> HTML {
        HTML(.p, .class("pager")) {
            for (name, link) in links { if let link { HTML(.a, .href(link)) { name } } }
        }
    }
}
