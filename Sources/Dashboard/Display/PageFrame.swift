import CarillonWeb

/// The frame of every page: head, navigation and footer.
struct PageFrame {
    let view: any PageView
    let viewer: Viewer
    let notice: Notice?
    let mount: DatabaseMount
    let version: String

    func response(status: Int) -> Response {
        let response = Response(page: html, status: status)
        return viewer.newCookie.map { response.adding("Set-Cookie", $0) } ?? response
    }

    private var html: HTML {
        HTML.document(language: "en") {
            Self.head(title: Self.title(of: view))
            HTML(.body) {
                HTML(.a, .class("skip"), .anchor("main")) { "Skip to the content" }
                HTML(.header, .class("top")) {
                    HTML(.a, .class("brand"), .href(Link())) { "Carillon" }
                    HTML(.nav, Attribute(.ariaLabel, "Pages")) {
                        databases
                        for section in mount == .list ? [] : PageSection.allCases {
                            HTML(
                                .a,
                                .href(section.link),
                                Attribute(.ariaCurrent, section == view.section ? "page" : nil)
                            ) { section.rawValue }
                        }
                    }
                    if mount != .list { search }
                }
                HTML(
                    .main,
                    Attribute(.id, "main"),
                    Attribute(.tabindex, "-1"),
                    Attribute(.dataEvery, view.refreshInterval.map(String.init))
                ) {
                    Self.content(of: view, viewer, notice: notice)
                }
                foot
            }
        }
    }

    /// The current database among several, with a link to the others.
    @HTMLBuilder private var databases: HTML {
        switch mount {
        case .only: HTML.nothing
        case .list: HTML(.a, .href(Link.top()), Attribute(.ariaCurrent, "page")) { "Databases" }
        case .one(let name):
            HTML(.a, .href(Link.top())) { "Databases" }
            HTML(.span, .class("database")) { name }
        }
    }

    private var search: HTML {
        HTML(
            .form,
            .class("search"),
            .action(Link("trace")),
            Attribute(.method, "get"),
            Attribute(.role, "search")
        ) {
            HTML(
                .input,
                Attribute(.type, "search"),
                Attribute(.name, "q"),
                Attribute(.ariaLabel, "Owner, device token, reference or message id"),
                Attribute(.placeholder, "Owner, token, reference, id"),
                Attribute(.autocomplete, "off"),
                Attribute(.spellcheck, "false"),
                Attribute(.maxlength, 600)
            )
        }
    }

    /// The content that changes while a page is open.
    @HTMLBuilder static func content(of view: any PageView, _ viewer: Viewer, notice: Notice?) -> HTML {
        HTML(.h1) { view.title }
        if let notice { notice.html }
        view.content(for: viewer)
    }

    static func title(of view: any PageView) -> String { view.title + " · Carillon" }

    static func head(title: String) -> HTML {
        HTML(.head) {
            HTML(.meta, Attribute(.charset, "utf-8"))
            HTML(.meta, Attribute(.name, "viewport"), Attribute(.content, "width=device-width, initial-scale=1"))
            HTML(.meta, Attribute(.name, "color-scheme"), Attribute(.content, "light dark"))
            HTML(.title) { title }
            HTML(.link, Attribute(.rel, "stylesheet"), .href(Assets.style.link))
            HTML.script(Assets.script.link)
        }
    }

    private var foot: HTML {
        HTML(.footer) {
            HTML(.p) {
                "Carillon " + version + " · "
                HTML(.span, Attribute(.id, "zone")) { "times in UTC" }
                " · "
                HTML(.span, Attribute(.id, "live"), Attribute(.role, "status")) { "as of the last load" }
            }
            if viewer.canLogIn { HTML(.p) { HTML(.a, .href(Link.top("login"))) { "Log in to change something" } } }
            if viewer.hasSession {
                HTML(.form, .action(Link.top("logout")), Attribute(.method, "post")) {
                    HTML(.button, Attribute(.type, "submit")) {
                        "Log out" + (viewer.name.map { " " + $0 } ?? "")
                    }
                }
            }
        }
    }
}
