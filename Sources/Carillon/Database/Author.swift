import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Glibc

/// Who runs a command, for the record of changes.
enum Author {
    static let settings: SessionSettings = ["carillon.source": "command line", "carillon.actor": name]

    /// As in anna@build-7.
    private static var name: String {
        let id = getuid()
        // With sudo, the person is another than the user.
        let person = id == 0 ? getenv("SUDO_USER").map { String(cString: $0) } : nil
        return "\(person ?? User(id: id)?.name ?? String(id))@\(WorkerOptions.hostName)"
    }
}
