import Testing

@testable import CarillonPostgres

@Suite struct ConnectionStringTests {
    @Test(arguments: [
        "mysql://app:s3cretword@host/db", "postgresql+asyncpg://app:s3cretword@host/db", "nonsense",
        "postgres//app:s3cretword@host/db", "host=localhost password='s3cretword",
        "host=localhost password=two s3cretword",
        "postgresql://app:s3cretword%zz@host/db", "postgresql://app:s3cretword@[::1/db",
        "postgresql://h/db?s3cretword=1",
    ])
    func `a malformed string is refused with the right form and without a secret`(text: String) {
        let error = #expect(throws: PostgresError.self) { try ConnectionString(text) }
        #expect(error?.code == .malformedURL)
        #expect(error?.hint?.contains("postgresql://USER:PASSWORD@HOST:PORT/DATABASE") == true)
        #expect("\(error as Any)".contains("s3cret") == false)
    }

    @Test(arguments: ["", "postgresql:///db", "postgres://u:p@h:1/d?sslmode=require", "host=/run/postgresql dbname=d"])
    func `a string that libpq understands is accepted`(text: String) throws {
        let string = try ConnectionString(text)
        #expect(string.text == text)
        #expect(
            string.keywords(application: "a").filter { $0.keyword == "dbname" }.map(\.value)
                == (text.isEmpty ? [] : [text])
        )
    }

    @Test(arguments: [
        "postgresql://app:s3cret@word@host/db", "postgresql://app:s3cret/word@host/db",
        "postgres://app:1/s3cret@host/db", "postgres://app:p@s3cret/x@host/db", "postgres://app:p@s3cret/x@host",
        "postgresql://app:s3:cret/word@host/db", "postgresql://app:s3cret/wo?rd@host/db",
    ])
    func `a password that is not encoded is refused before libpq takes a piece of it for a host`(text: String) {
        let error = #expect(throws: PostgresError.self) { try ConnectionString(text) }
        #expect(error?.code == .malformedURL)
        #expect(error?.hint?.contains(#""@" is %40"#) == true)
        #expect(!"\(error as Any)".contains("cret") && !"\(error as Any)".contains("word@"))
        #expect(DatabaseLabel.of(text) == "?")
    }

    @Test(arguments: [
        "postgresql://app:p%40ss@h1:5432,h2:5433/db?application_name=a@b", "postgresql://[::1]:5432/db",
        "postgresql://app@h/a@b", "postgresql://h:5432/db?application_name=a/b@c", "postgresql://app:a#b:c?d@h/db",
        "host=h password=a@b:c/d", "postgresql://%2Frun%2Fpg:5432/db", "postgresql:///d@b",
    ])
    func `a string that only looks like one of those is accepted`(text: String) throws {
        #expect(try ConnectionString(text).text == text)
    }

    @Test func `the user's own time limit counts`() throws {
        #expect(try ConnectionString("postgresql://h/d?connect_timeout=3").timeout == .seconds(3))
        #expect(try ConnectionString("host=h connect_timeout=4").timeout == .seconds(4))
    }

    @Test func `a refusal in any language is understood by its number`() {
        let refusal = LibpqReport(
            """
            connection to server at "127.0.0.1", port 5432 failed: FATAL:  28P01: Passwort-Authentifizierung fehlgeschlagen
            ORT:  auth_failed, auth.c:326

            """
        )
        #expect(refusal.sqlState == "28P01")
        #expect(
            refusal.message
                == #"connection to server at "127.0.0.1", port 5432 failed: FATAL: Passwort-Authentifizierung fehlgeschlagen"#
        )
    }
}
