import CarillonWeb

/// The files that pages load, contained in the program.
enum Assets {
    static let style = StaticFile(
        "dashboard.css",
        contentType: "text/css; charset=utf-8",
        PackageResources.dashboard_css
    )
    static let script = StaticFile(
        "dashboard.js",
        contentType: "text/javascript; charset=utf-8",
        PackageResources.dashboard_js
    )

    static let all = [style, script]
}
