import CarillonPostgres
import CarillonText
import CarillonWeb

/// A bar chart of pushes over time, as SVG: sent pushes, with failed and expired ones on top.
struct PushCountChart {
    private static let (barWidth, height) = (10, 100)

    let buckets: [PushCounts]
    let span: PushCountSpan

    private var peak: Int64 { max(1, buckets.map { $0.sent + $0.failed + $0.expired }.max() ?? 1) }

    var html: HTML {
        HTML(.figure, .class("chart")) {
            HTML(.figcaption) {
                HTML(.span) { "Pushes in \(span.text), by \(span == .hour ? "minute" : "20 minutes")" }
                HTML(.span, .class("legend")) {
                    HTML(.span, .class("key sent")) { "sent" }
                    HTML(.span, .class("key failed")) { "failed or expired" }
                }
            }
            HTML(.div, .class("plot")) {
                HTML(.span, .class("peak")) { Quantity.short(peak) }
                drawing
            }
            HTML(.div, .class("axis")) {
                if let first = buckets.first, let last = buckets.last {
                    first.start.html
                    last.start.html
                }
            }
        }
    }

    private var drawing: HTML {
        let width = buckets.count * Self.barWidth
        return HTML(
            .svg,
            Attribute(.viewBox, "0 0 \(width) \(Self.height)"),
            Attribute(.preserveAspectRatio, "none"),
            Attribute(.role, "img"),
            Attribute(.ariaLabel, summary)
        ) {
            for (index, bucket) in buckets.enumerated() { bar(bucket, at: index) }
        }
    }

    private var summary: String {
        let sent = buckets.reduce(0) { $0 + $1.sent }
        let failed = buckets.reduce(0) { $0 + $1.failed + $1.expired }
        return "In \(span.text), \(Int(sent).grouped) were sent and \(Int(failed).grouped) failed or expired."
    }

    private func bar(_ bucket: PushCounts, at index: Int) -> HTML {
        let (bad, sent) = (bucket.failed + bucket.expired, bucket.sent)
        guard bad + sent > 0 else { return .nothing }
        let (badHeight, sentHeight) = (scaled(bad), scaled(sent))
        let x = index * Self.barWidth + 1
        return HTML(.g) {
            HTML(.title) {
                "\(bucket.start.readable): \(Int(sent).grouped) sent, \(Int(bucket.failed).grouped) failed, "
                    + "\(Int(bucket.expired).grouped) expired, \(Int(bucket.retried).grouped) retried"
            }
            rectangle("sent", x, sentHeight, above: 0)
            rectangle("failed", x, badHeight, above: sentHeight)
        }
    }

    private func rectangle(_ name: String, _ x: Int, _ height: Int, above base: Int) -> HTML {
        guard height > 0 else { return .nothing }
        return HTML(
            .rect,
            .class(name),
            Attribute(.x, x),
            Attribute(.y, Self.height - base - height),
            Attribute(.width, Self.barWidth - 2),
            Attribute(.height, height)
        )
    }

    /// Any count above zero is visible.
    private func scaled(_ count: Int64) -> Int {
        count == 0 ? 0 : max(2, Int(Double(count) / Double(peak) * Double(Self.height - 4)))
    }
}
