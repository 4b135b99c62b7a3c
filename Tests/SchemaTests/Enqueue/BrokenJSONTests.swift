import CarillonPostgres
import TestSupport
import Testing

/// Text in place of JSON that a driver sends as text.
@Suite(.demo) struct BrokenJSONTests {
    @Test(arguments: [
        (#"alert => ' {"title": "x"'"#, "alert"), ("alert => E'{\\'title\\': 1}'", "alert"),
        (#"alert => '{"title": "x"} {}'"#, "alert"), (#"alert => 'x', sound => '{"critical":1'"#, "sound"),
    ])
    func `a text that only begins like a JSON object is refused`(content: String, argument: String) async throws {
        let error = await database.refusal(ofValue: "carillon.enqueue('demo', '{ab}', \(content))")
        #expect(
            error?.message.hasPrefix("argument \"\(argument)\" takes text, or a JSON object, got ") == true,
            "\(error?.message ?? "")"
        )
        #expect(error?.sqlState == "22P02")
        #expect(error?.hint?.contains("begins like a JSON object") == true)
    }
}
