import ApplePush
import CarillonIO
import CarillonTLS
import Testing

@testable import CarillonPushQueue

@Suite struct AppDirectoryTests {
    @Test
    func `a credential that there was no memory to read is read again, and called neither valid nor invalid`() throws {
        let hasMemory = Guarded(false)
        var directory = AppDirectory { text throws(Hold) in
            guard hasMemory.withLock({ $0 }) else { throw Hold(.connection, "There is not enough memory.") }
            return try text.usable()
        }
        let key = try SigningKey.generate().pem
        let secret = CredentialText(privateKey: key, keyID: "ABCDE12345", teamID: "TEAM123456")
        var row = SimulatedApp.row(1, secret: secret)
        row.lacksFacts = true
        var facts = directory.read([row], of: [1]).facts.count
        #expect(directory.hasUnreadCredentials && facts == 0)
        hasMemory.withLock { $0 = true }
        facts = directory.read([row], of: [1]).facts.count
        #expect(!directory.hasUnreadCredentials && facts == 1)
    }
}
