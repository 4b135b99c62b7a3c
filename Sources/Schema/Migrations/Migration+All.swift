extension Migration {
    /// Every migration, in order.
    package static let all = [
        Migration(1, "schema"),
        Migration(2, "apps"),
        Migration(3, "queue"),
        Migration(4, "history"),
        Migration(5, "fleet"),
        Migration(6, "tokens"),
        Migration(7, "arguments"),
        Migration(8, "isolation"),
        Migration(9, "events"),
    ]

    /// The version of the schema that this program works with.
    package static var latest: Int { all.last?.version ?? 0 }

    /// The program contains its files.
    private init(_ version: Int, _ name: String) {
        let title = Self.title(version, name)
        let up = Routines.File.at(title + ".up.sql")
        let down = Routines.File.at(title + ".down.sql")
        self.init(version, name, up: up.text, down: down.text)
    }
}
