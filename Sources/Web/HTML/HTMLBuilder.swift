/// Writes the content of an element: texts, elements, and lists of elements.
@resultBuilder package enum HTMLBuilder {
    package static func buildExpression(_ text: String) -> HTML { HTML(text) }
    package static func buildExpression(_ html: HTML) -> HTML { html }
    package static func buildExpression(_ parts: [HTML]) -> HTML { HTML(joining: parts) }
    package static func buildBlock(_ parts: HTML...) -> HTML { HTML(joining: parts) }
    package static func buildOptional(_ part: HTML?) -> HTML { part ?? .nothing }
    package static func buildEither(first part: HTML) -> HTML { part }
    package static func buildEither(second part: HTML) -> HTML { part }
    package static func buildArray(_ parts: [HTML]) -> HTML { HTML(joining: parts) }
}
