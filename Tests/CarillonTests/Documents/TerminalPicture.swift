/// What a program printed, as an SVG that looks like a terminal, on a light page and on a dark one.
struct TerminalPicture {
    private static let lineHeight = 18
    private static let characterWidth = 8

    let lines: [String]

    var svg: String {
        let width = (lines.map(\.count).max() ?? 0) * Self.characterWidth + 40
        let height = lines.count * Self.lineHeight + 40
        let rows = lines.enumerated().map { place, line in
            let y = 34 + place * Self.lineHeight
            let style = line.hasPrefix("ok ") ? " class=\"ok\"" : line.hasPrefix("$ ") ? " class=\"typed\"" : ""
            return "<text x=\"20\" y=\"\(y)\"\(style)>\(Self.escape(line))</text>"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)">
            <title>carillon demo</title>
            <style>
            text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }
            .ok { fill: #a3d39c }
            .typed { fill: #ffffff; font-weight: bold }
            </style>
            <rect width="\(width)" height="\(height)" rx="8" fill="#1e2430"/>
            \(rows.joined(separator: "\n"))
            </svg>

            """
    }

    /// The lines of a picture that this type has made.
    static func lines(of svg: String) -> [String] {
        svg.matches(of: #/<text [^>]*>([^<]*)<\/text>/#).map { match in
            String(match.output.1).replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                .replacing("&amp;", with: "&")
        }
    }

    private static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
