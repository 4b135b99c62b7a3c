import CarillonWeb
import TestSupport
import Testing

@testable import CarillonDashboard

@Suite struct LoginFormTests {
    @Test func `a name has no blanks around it, and 60 characters at most`() {
        for (text, name) in [
            ("name=+anna+&password=x", "anna"), ("name=+%09&password=x", nil), ("password=x", nil),
            ("name=\(String(repeating: "n", count: 61))", String(repeating: "n", count: 60)),
        ] as [(String, String?)] {
            #expect(LoginForm(Array(text.utf8)).name == name, "\(text)")
        }
    }

    @Test func `a login leads to a page of this server only`() {
        #expect(LoginForm(Array("next=%2Fapps".utf8)).next == LoginForm.page("/apps"))
        for text in [
            "next=https%3A%2F%2Fevil.example", "next=", "password=x", "next=%2F" + String(repeating: "x", count: 4_096),
        ] {
            #expect(LoginForm(Array(text.utf8)).next == LoginForm.page(nil), "\(text)")
        }
    }

    /// In the square of the bytes, each of these forms takes seconds.
    @Test(arguments: ["+", " ", "\t"])
    func `a form full of blanks costs a running dashboard time that grows with its bytes`(blank: String) async throws {
        let blanks = String(repeating: blank, count: 250_000)
        try await TemporaryFolder.with { folder in
            let words = ["--password-file", try folder.write("password", "correct horse\n")]
            let nowhere = "postgresql://127.0.0.1:1/none"
            try await DashboardClient.with(nowhere, in: folder, words) { client, _ in
                for name in [blanks + "a", "a" + blanks, blanks] {
                    let form = "name=\(name)&password=wrong"
                    // The first attempts take a check of the password each, and later ones are refused.
                    var least = Double.infinity
                    for _ in 0..<8 {
                        let before = try client.program.processorSeconds
                        let answer = await client.post("/login", form)
                        least = min(least, try client.program.processorSeconds - before)
                        #expect(["403", "429"].contains(answer.status), "\(answer.head)")
                    }
                    #expect(Growth.isLinear(least, bytes: form.utf8.count), "\(least) s")
                }
            }
        }
    }
}
