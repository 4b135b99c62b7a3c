import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Glibc

/// The person who runs a command, for the record of changes.
enum Author {
    static let settings: SessionSettings = ["carillon.source": "command line", "carillon.actor": name]

    /// For example anna@build-7.
    private static var name: String {
        let id = getuid()
        // Under sudo, the person is not the current user.
        let person = id == 0 ? getenv("SUDO_USER").map { String(cString: $0) } : nil
        return "\(person ?? User(id: id)?.name ?? String(id))@\(WorkerOptions.hostName)"
    }
}
