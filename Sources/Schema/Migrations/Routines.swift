/// The functions, views and rights of a release: files of `migrations/` without a number, which the program contains. Where a
/// file has changed, `migrate up` applies all of them again.
package struct Routines: Sendable {
    package struct File: Sendable, Identifiable, Equatable {
        /// Below `migrations/`, such as "views/pending.sql".
        package let path: String
        package let text: String

        package var id: String { path }
        /// Of a view, its name.
        var name: String { Routines.name(of: path) }

        package init(_ path: String, _ text: String) {
            self.path = path
            self.text = text
        }
    }

    package let release: Release
    package let functions: [File]
    /// Each creates the view of its name.
    package let views: [File]
    package let rights: File

    package init(of release: Release, functions: [File], views: [File], rights: File) {
        self.release = release
        self.functions = functions
        self.views = views
        self.rights = rights
    }

    package var files: [File] { functions + views + [rights] }

    /// "pending" of "views/pending.sql".
    static func name(of path: String) -> String {
        let file = path.split(separator: "/").last ?? ""
        return String(file.split(separator: ".").first ?? "")
    }
}
