/// The elements that pages may contain. Elements whose content is not HTML, such as `script` and `style`, are not among them.
package enum Tag: String, Sendable, CaseIterable {
    case a, article, aside, b, body, br, button, caption, code, dd, div, dl, dt, em, figcaption, figure, footer, form,
        h1, h2, h3
    case head, header, hr, img, input, label, legend, li, link, main, meta, nav, ol, option, p, pre, progress, section,
        select, textarea
    case small, span, strong, summary, details, table, tbody, td, tfoot, th, thead, time, title, tr, ul
    case svg, g, line, path, rect, polyline, text, desc

    /// It has no content and no end tag.
    var isVoid: Bool {
        switch self {
        case .br, .hr, .img, .input, .link, .meta: true
        default: false
        }
    }
}
