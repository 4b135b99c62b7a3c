@testable import CarillonBenchmarks

/// The figures of a benchmark as bars, in an SVG for light and dark pages. Bars of one unit share a scale; a line across a bar is
/// its bound.
struct Plot {
    private static let labelWidth = 400.0
    private static let barWidth = 260.0
    private static let width = 800.0
    private static let rowHeight = 26.0
    private static let top = 56.0

    let title: String
    let caption: String
    let figures: [Figure]

    var svg: String {
        let height = Self.top + Self.rowHeight * Double(figures.count) + 16
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" width="\(Self.width)" height="\(height)">
            <style>
            text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .title { font-size: 15px; font-weight: 600 }
            .caption { font-size: 11px; fill: #59636e }
            .bar { fill: #4f7cac } .missed { fill: #c4453c } .bound { stroke: #1f2328; stroke-width: 2 }
            @media (prefers-color-scheme: dark) {
            text { fill: #e6edf3 } .caption { fill: #9198a1 } .bar { fill: #6ea3d8 } .missed { fill: #e5736b }
            .bound { stroke: #e6edf3 }
            }
            </style>
            <text class="title" x="12" y="24">\(Self.escape(title))</text>
            <text class="caption" x="12" y="42">\(Self.escape(caption))</text>
            \(figures.indices.map(row).joined(separator: "\n"))
            </svg>

            """
    }

    private func row(_ place: Int) -> String {
        let figure = figures[place]
        let y = Self.top + Self.rowHeight * Double(place)
        let length = Self.barWidth * figure.value / scale(of: figure.unit)
        let indent = figure.name.hasPrefix("  ") ? 28.0 : 12.0
        let name = figure.name.drop { $0 == " " }
        var marks = [
            "<text x=\"\(indent)\" y=\"\(y + 15)\">\(Self.escape(String(name)))</text>",
            "<rect class=\"bar\(figure.isMet == false ? " missed" : "")\" x=\"\(Self.labelWidth)\" y=\"\(y + 3)\" "
                + "width=\"\(Self.rounded(length))\" height=\"16\" rx=\"2\"/>",
            "<text x=\"\(Self.rounded(Self.labelWidth + Self.barWidth + 12))\" y=\"\(y + 15)\">\(figure.text)</text>",
        ]
        if let bound = figure.boundValue {
            let x = Self.rounded(Self.labelWidth + Self.barWidth * bound / scale(of: figure.unit))
            marks.append("<line class=\"bound\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(y)\" y2=\"\(y + 22)\"/>")
        }
        return marks.joined(separator: "\n")
    }

    /// What a bar of full length stands for.
    private func scale(of unit: Figure.Unit) -> Double {
        let values = figures.filter { $0.unit == unit }.map { max($0.value, $0.boundValue ?? 0) }
        return max(values.max() ?? 0, .leastNormalMagnitude)
    }

    private static func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }

    private static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}

extension Figure {
    fileprivate var boundValue: Double? {
        switch bound {
        case .atLeast(let value, _), .atMost(let value): value
        case nil: nil
        }
    }
}
