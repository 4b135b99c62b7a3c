import CarillonSchema
import CarillonText
import CarillonWeb

/// Explains why there is nothing to show.
struct ErrorView: PageView {
    let status: Int
    let sentence: String
    let hint: String?
    /// Whether the error may be over when the page is next loaded.
    let isPassing: Bool

    init(_ error: PageError) {
        (status, sentence, hint, isPassing) = (error.status, error.sentence, error.hint, false)
    }

    /// Messages of PostgreSQL and libpq may contain a connection string.
    init(explaining error: Explanation, isReading: Bool = true) {
        let redactor = Redactor()
        status = 503
        sentence = redactor.clean(error.sentence)
        hint =
            error.lacksRights
            ? (isReading
                ? "'carillon web' needs the role carillon_reader: run GRANT carillon_reader TO the login that it connects with."
                : "Changes need the role carillon_operator: run GRANT carillon_operator TO the login of 'carillon web'.")
            : error.hint.map(redactor.clean)
        isPassing = isReading
    }

    var title: String { "There is nothing to show" }
    var section: PageSection { .overview }
    var refreshInterval: Int? { isPassing ? 5 : nil }

    var content: HTML {
        HTML(.section, .class("error"), Attribute(.role, "alert")) {
            HTML(.h2) { sentence }
            if let hint { HTML(.p) { hint } }
            if isPassing { HTML(.p, .class("note")) { "This page tries again every few seconds." } }
        }
    }

    var document: ProblemDocument { ProblemDocument(status: status, detail: sentence, hint: hint) }
    var json: JSONValue { document.json }
}
