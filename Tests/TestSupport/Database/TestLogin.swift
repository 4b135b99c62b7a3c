/// The logins with which tests run the program: each has the roles that docs/rights.md names for it, and no other right.
package enum TestLogin: String, CaseIterable, Sendable {
    case worker = "test_worker"
    /// Of a worker with `--web`.
    case workerWithWeb = "test_worker_with_web"
    case web = "test_web"
    case app = "test_app"

    private var roles: String {
        switch self {
        case .worker: "carillon_worker"
        case .workerWithWeb: "carillon_worker, carillon_reader, carillon_operator"
        case .web: "carillon_reader, carillon_operator"
        case .app: "carillon_app"
        }
    }

    /// The URL for a command of the program. What is not listed here runs as the owner of the schema.
    package static func url(_ url: String, running words: [String]) -> String {
        running(words)?.url(url) ?? url
    }

    private static func running(_ words: [String]) -> TestLogin? {
        switch words.first {
        case "worker": words.contains("--web") ? .workerWithWeb : .worker
        case "feedback": .worker
        case "web": .web
        case "send", "broadcast", "message", "trace", "forget", "failures", "tokens": .app
        case "metrics" where words.dropFirst().first == "show": .app
        case "metrics" where !words[1].hasSuffix("-token"): .worker
        default: nil
        }
    }

    /// The URL with this login instead of the superuser. A URL of another login stays the same.
    package func url(_ url: String) -> String {
        url.replacing("user=postgres", with: "user=\(rawValue)").replacing("//postgres:", with: "//\(rawValue):")
    }

    /// Creates the logins with the password of the superuser who runs it, unless the cluster has them.
    static var creation: String {
        let commands = allCases.map {
            "EXECUTE format('CREATE ROLE \($0.rawValue) LOGIN PASSWORD %L IN ROLE \($0.roles)', password);"
        }
        return """
            DO $$
            DECLARE
                password text;
            BEGIN
                IF current_setting('is_superuser') = 'on' AND to_regrole('\(worker.rawValue)') IS NULL THEN
                    SELECT a.rolpassword INTO password FROM pg_authid a WHERE a.rolname = current_user;
                    \(commands.joined(separator: "\n"))
                END IF;
            END $$
            """
    }
}
