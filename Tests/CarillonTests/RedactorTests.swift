import Testing

@testable import Carillon

@Suite struct RedactorTests {
    @Test(arguments: [
        "postgresql://user:hunter2@host:5432/db", "postgres://user:hunter2@host", "host=h password=hunter2 user=u",
        "password='hunter2' host=h", "postgresql://host/db?user=u&password=hunter2&sslmode=require",
        "postgres//user:hunter2@host", "postgresql://user:hunt%65r2@host/db", "hunter2",
    ])
    func `a password does not come out again, however it came in`(setting: String) {
        let redactor = Redactor([setting])
        #expect(!redactor.clean("could not connect: hunter2 is wrong in \(setting)").contains("hunter2"))
    }

    @Test func `the rest of a connection string may be seen`() {
        let redactor = Redactor(["postgresql://user:hunter2@host:5432/db"])
        #expect(
            redactor.clean("no host at postgresql://user:hunter2@host:5432/db")
                == "no host at postgresql://user:***@host:5432/db"
        )
        #expect(Redactor(["postgresql://host/db"]).clean("postgresql://host/db") == "postgresql://host/db")
    }
}
