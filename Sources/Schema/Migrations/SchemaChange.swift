/// What a migrator has committed.
package enum SchemaChange: Sendable, Equatable {
    case applied(Migration)
    case undone(Migration)
    /// The functions, views and rights of that release, which no longer has these routines and views.
    case routines(Release, dropped: [String])
    /// The text of a view that was there.
    case view(String)
    /// All functions, views and rights were removed, where no migration was to be undone.
    case withoutRoutines

    var migration: Migration? {
        switch self {
        case .applied(let migration), .undone(let migration): migration
        case .routines, .view, .withoutRoutines: nil
        }
    }
}
