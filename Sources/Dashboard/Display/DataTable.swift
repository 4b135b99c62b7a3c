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

    init(_ caption: String, _ rows: [Row], _ columns: Column...) {
        self.caption = caption
        self.rows = rows
        self.columns = columns
    }

    init(_ caption: String, _ rows: [Row], _ columns: [Column]) {
        self.caption = caption
        self.rows = rows
        self.columns = columns
    }

    var html: HTML {
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
