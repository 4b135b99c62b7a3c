import FoundationEssentials
import Testing

/// A picture in docs/images that a page shows, such as `app-dark-1280.png`: a page of the dashboard, its colours, and the
/// width of the window.
package struct ShownPicture: Hashable {
    package let page: String
    package let isDark: Bool
    package let width: Int

    package var file: String { "\(page)-\(isDark ? "dark" : "light")-\(width).png" }

    /// Those that README.md and the pages in docs/ show.
    package static var all: Set<ShownPicture> {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: GeneratedPage("docs").file)
            let pages = ["README.md"] + names.filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
            return try Set(
                pages.flatMap { page in
                    try GeneratedPage(page).text.matches(of: /images\/([a-z]+)-(dark|light)-([0-9]+)\.png/).map {
                        match in
                        try ShownPicture(
                            page: String(match.output.1),
                            isDark: match.output.2 == "dark",
                            width: #require(Int(match.output.3))
                        )
                    }
                }
            )
        }
    }
}
