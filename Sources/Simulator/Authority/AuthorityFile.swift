import CarillonIO
import CarillonTLS
import Glibc

/// The file that keeps a simulator's authority between starts: its certificate and its private key, readable only by the owner.
struct AuthorityFile {
    private let path: String

    /// The file in that folder, which is created if it does not exist.
    init(in folder: String) throws(SimulatorError) {
        path = folder + (folder.hasSuffix("/") ? "" : "/") + "authority.pem"
        if mkdir(folder, 0o700) == 0 { return }
        guard errno == EEXIST else {
            throw Self.failure("The folder \(folder) cannot be made", errno, "name one in a folder that may be written")
        }
        var facts = stat()
        if stat(folder, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR {
            throw SimulatorError(
                .unavailable,
                "The authority is kept in a folder, and \(folder) is a file: name a folder, which is made if there is none."
            )
        }
    }

    /// An authority that is not kept.
    static func newAuthority() throws(SimulatorError) -> CertificateAuthority {
        try SimulatorError.unavailable { try CertificateAuthority(name: "APNs simulator") }
    }

    /// The authority in the file, or a new one if there is none yet.
    func authority() throws(SimulatorError) -> CertificateAuthority {
        if let kept = try read() { return kept }
        let made = try Self.newAuthority()
        if try write(made.secretPEM) { return made }
        // Another simulator was faster; use its authority.
        guard let kept = try read() else {
            throw SimulatorError(.unavailable, "Another program made and removed the file \(path): start again.")
        }
        return kept
    }

    private func read() throws(SimulatorError) -> CertificateAuthority? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("The file \(path) cannot be read", errno, "make the simulator's user its owner")
        }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor, &text, text.count)
        var facts = stat()
        guard count >= 0, fstat(descriptor, &facts) == 0 else {
            throw Self.failure("The file \(path) cannot be read", errno, "remove it to have a new one made")
        }
        let authority: CertificateAuthority
        do {
            authority = try CertificateAuthority(keptAs: Array(text[..<count]))
        } catch {
            throw SimulatorError(
                .badConfiguration,
                "The file \(path) holds no authority: \(error.message). Remove it to have a new one made, and give clients "
                    + "the new root.",
                underlying: error
            )
        }
        // Anyone with the key can impersonate any server to clients that trust the root.
        guard facts.st_mode & 0o077 == 0 else {
            let mode = String(facts.st_mode & 0o777, radix: 8)
            throw SimulatorError(
                .badConfiguration,
                "The file \(path) has a private key, and other users than its owner can open it (mode \(mode)): "
                    + "run chmod 600 \(path)."
            )
        }
        return authority
    }

    /// Puts the complete file in place atomically. Returns false if there is already one.
    private func write(_ text: String) throws(SimulatorError) -> Bool {
        let draft = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Self.failure("The file \(draft) cannot be made", errno, "is the folder writable?")
        }
        defer {
            close(descriptor)
            unlink(draft)
        }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { break }
            rest = rest.dropFirst(max(0, count))
        }
        guard rest.isEmpty, fsync(descriptor) == 0 else {
            throw Self.failure("The file \(draft) cannot be written", errno, "is the disk full?")
        }
        if link(draft, path) == 0 { return true }
        if errno == EEXIST { return false }
        throw Self.failure("The file \(path) cannot be made", errno, "is the folder writable?")
    }

    private static func failure(_ what: String, _ number: CInt, _ advice: String) -> SimulatorError {
        SimulatorError(.unavailable, "\(what): \(IOError.text(of: number)); \(advice).")
    }
}
