import CarillonSchema
import CarillonText
import CarillonWeb

struct AppListView: PageView {
    let isFirst: Bool
    let apps: [AppStatus]

    private var more: Link? {
        guard apps.count == AppListQuery.pageLength, let last = apps.last else { return nil }
        return Link("apps", query: ["after": last.name])
    }

    var title: String { "Apps" }
    var section: PageSection { .apps }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if !apps.isEmpty {
            let isWhole = isFirst && more == nil
            AppTable(caption: isWhole ? Counted.text(Int64(apps.count), "app") : "Apps by name", apps: apps).html
        } else if isFirst {
            HTML(.p) { "There are no apps yet: add one with 'carillon app add'." }
        } else {
            HTML(.p) { "There are no more apps." }
        }
        HTML.pager(("The first", isFirst ? nil : Link("apps")), ("More", more))
    }

    var json: JSONValue { ["apps": apps, "more": more?.text] }
}
