import CarillonWeb

/// The key figures at the top of a page.
struct Tiles {
    struct Tile {
        let name: String
        let value: String
        let note: String?
        let mark: StateMark

        init(_ name: String, _ value: String, note: String? = nil, mark: StateMark = .quiet) {
            self.name = name
            self.value = value
            self.note = note
            self.mark = mark
        }
    }

    let tiles: [Tile]

    init(_ tiles: Tile...) { self.tiles = tiles }

    var html: HTML {
        HTML(.dl, .class("tiles")) {
            for tile in tiles {
                HTML(.div, .class("tile \(tile.mark.rawValue)")) {
                    HTML(.dt) { tile.name }
                    HTML(.dd) {
                        HTML(.strong) { tile.value }
                        if let note = tile.note { HTML(.span, .class("note")) { note } }
                    }
                }
            }
        }
    }
}
