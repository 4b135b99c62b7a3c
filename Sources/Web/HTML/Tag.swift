/// The elements that pages may contain. Elements whose content is not HTML, such as `script` and `style`, are not among them.
package enum Tag: String, Sendable, CaseIterable {
    case a, body, br, button, caption, code, dd, div, dl, dt, figcaption, figure, footer, form, h1, h2
    case head, header, hr, img, input, label, li, link, main, meta, nav, ol, option, p, pre, progress, section, select
    case span, strong, summary, details, table, tbody, td, textarea, th, thead, time, title, tr, ul
    case svg, g, path, rect

    /// It has no content and no end tag.
    var isVoid: Bool {
        switch self {
        case .br, .hr, .img, .input, .link, .meta: true
        default: false
        }
    }
}
