import CarillonWeb

/// A table with a heading for each column. It scrolls separately in a narrow window.
struct DataTable<Row> {
    struct Column {
        let title: String
        let isNumber: Bool
        let cell: (Row) -> HTML

        static func text(_ title: String, _ cell: @escaping (Row) -> HTML) -> Column {
            Column(title: title, isNumber: false, cell: cell)
        }

        static func number(_ title: String, _ cell: @escaping (Row) -> String) -> Column {
            Column(title: title, isNumber: true) { HTML(cell($0)) }
        }
    }

    let caption: String
    let rows: [Row]
    let columns: [Column]
    /// What the page says in place of a table without rows.
    let nothing: String?

    init(_ caption: String, _ rows: [Row], orSay nothing: String? = nil, _ columns: Column...) {
        self.init(caption, rows, orSay: nothing, columns)
    }

    init(_ caption: String, _ rows: [Row], orSay nothing: String? = nil, _ columns: [Column]) {
        self.caption = caption
        self.rows = rows
        self.columns = columns
        self.nothing = nothing
    }

    @HTMLBuilder var html: HTML {
        if rows.isEmpty, let nothing { HTML(.p) { nothing } } else { table }
    }

    private var table: HTML {
        HTML(
            .div,
            .class("scroll"),
            Attribute(.tabindex, "0"),
            Attribute(.role, "region"),
            Attribute(.ariaLabel, caption)
        ) {
            HTML(.table) {
                HTML(.caption) { caption }
                HTML(.thead) {
                    HTML(.tr) {
                        for column in columns {
                            HTML(.th, Attribute(.scope, "col"), .class(column.isNumber ? "number" : nil)) {
                                column.title
                            }
                        }
                    }
                }
                HTML(.tbody) {
                    for row in rows {
                        HTML(.tr) {
                            for column in columns {
                                HTML(.td, .class(column.isNumber ? "number" : nil)) { column.cell(row) }
                            }
                        }
                    }
                }
            }
        }
    }
}
