import CarillonText
import Testing

@Suite struct RedactorTests {
    @Test(arguments: [
        "postgresql://user:hunter2@host:5432/db", "postgres://user:hunter2@host", "host=h password=hunter2 user=u",
        "password='hunter2' host=h", "password = 'a hunter2' host=h", #"password='a\'hunter2' host=h"#,
        "postgresql://host/db?user=u&password=hunter2&sslmode=require", "postgres//user:hunter2@host",
        "postgresql://user:hunt%65r2@host/db", "postgresql://user:a@hunter2@host/db",
        "postgresql://user:a/hunter2@host/db", "postgresql://user:a?hunter2@host/db", "PASSWORD=hunter2 host=h",
        "host=h sslpassword=hunter2",
    ])
    func `a password does not come out of a connection string, whoever wrote that down`(setting: String) {
        for redactor in [Redactor(), Redactor([setting])] {
            for text in [setting, "could not open \(setting)", "no '\(setting)' there", #"{"url":"\(setting)","n":1}"#]
            {
                #expect(!redactor.clean(text).contains("hunt"), "\(redactor.clean(text))")
            }
        }
    }

    @Test func `a setting is known as a whole, even where white space is part of its password`() {
        let redactor = Redactor(["postgresql://user:my hunter2@host/db"])
        #expect(
            redactor.clean("cannot read postgresql://user:my hunter2@host/db, sorry")
                == "cannot read postgresql://user:***@host/db, sorry"
        )
    }

    @Test(arguments: ["postgres://x:carillon@h/shop", "host=h password=carillon", "carillon"])
    func `letters that are also a password are left alone everywhere else`(setting: String) {
        let text = #"no schema carillon yet: run `carillon migrate up`, or GRANT carillon_reaper TO shopowner"#
        #expect(Redactor([setting]).clean(text) == text)
    }

    @Test func `the rest of a connection string may be seen`() {
        let redactor = Redactor(["postgresql://user:hunter2@host:5432/db"])
        #expect(
            redactor.clean("no host at postgresql://user:hunter2@host:5432/db")
                == "no host at postgresql://user:***@host:5432/db"
        )
        #expect(Redactor(["postgresql://host/db"]).clean("postgresql://host/db") == "postgresql://host/db")
        #expect(Redactor().clean("postgresql://USER:PASSWORD@HOST:PORT/D") == "postgresql://USER:PASSWORD@HOST:PORT/D")
        #expect(Redactor().clean("https://h:1/a and me@example.org") == "https://h:1/a and me@example.org")
    }
}
