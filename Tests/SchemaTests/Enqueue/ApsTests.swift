import CarillonPostgres
import TestSupport
import Testing

/// The members of `aps`, from arguments of their own and from the argument `aps`.
@Suite(.demo) struct ApsTests {
    private static let payloads = [
        (
            "title => 'x', interruption_level => 'time-sensitive', relevance_score => 0.25, target_content_id => 'room 7', "
                + "filter_criteria => 'work', stale_date => '2023-06-05 10:00:00.9Z'",
            #"{"aps":{"alert":{"title":"x"},"interruption-level":"time-sensitive","relevance-score":0.25,"#
                + #""target-content-id":"room 7","filter-criteria":"work","stale-date":1685959200}}"#
        ),
        (#"aps => '{"alert": "a, b: {c}", "new": {"x": [{}]}}'"#, #"{"aps":{"new":{"x":[{}]},"alert":"a, b: {c}"}}"#),
        (
            #"badge => 1, aps => '{"url-args": ["a"]}', extra => '{"k": 1}'"#,
            #"{"aps":{"badge":1,"url-args":["a"]},"k":1}"#
        ),
        ("badge => 1, aps => '{}'", #"{"aps":{"badge":1}}"#),
        (
            #"sound => '{"critical":1}', aps => '{"thread-id": null}'"#,
            #"{"aps":{"sound":{"critical":1},"thread-id":null}}"#
        ),
        (#"aps => '{"sound": {"critical": 1}}'"#, #"{"aps":{"sound":{"critical":1}}}"#),
        ("alert => 'x', relevance_score => 1e-7", #"{"aps":{"alert":"x","relevance-score":1e-07}}"#),
        (#"aps => '{"badge": 2}', alert => '{"body": "x"}'::jsonb"#, #"{"aps":{"alert":{"body":"x"},"badge":2}}"#),
    ]

    @Test func `members of aps come from arguments and from aps`() async throws {
        for (arguments, payload) in Self.payloads {
            let id = try await database.value("carillon.enqueue('demo', '{ab}', \(arguments))")
            #expect(try await database.value("SELECT payload FROM carillon.messages WHERE id = \(id ?? "")") == payload)
        }
    }

    private static let types = [
        (#"aps => '{"content-available": 1}'"#, "background"),
        (#"aps => '{"content-available": 1}', extra => '{"k": 1}'"#, "background"),
        (#"aps => '{"url-args": []}', content_available => true"#, "background"),
        (#"aps => '{"content-available": 1, "badge": 1}'"#, "alert"),
        (#"aps => '{"content-available": 1}', body => 'x'"#, "alert"),
        (#"aps => '{"content-available": "1"}'"#, "alert"),
        (#"aps => '{"alert": "x"}', content_available => true"#, "alert"),
        (#"aps => '{"url-args": []}'"#, "alert"),
    ]

    @Test func `the push type is derived from aps as from a payload`() async throws {
        for (arguments, type) in Self.types {
            let id = try await database.value("carillon.enqueue('demo', '{ab}', \(arguments))")
            let row = try await database.rows(
                "SELECT push_type, priority FROM carillon.messages WHERE id = \(id ?? "")"
            )
            #expect(row == ["(\(type),\(type == "background" ? "5" : ""))"], "\(arguments)")
        }
    }

    private static let refusals = [
        ("alert => 'x', aps => '[]'", "aps", "a JSON object, got []"),
        ("alert => 'x', aps => 'null'", "aps", "a JSON object, got null"),
        (#"aps => '{"aps": {}}'"#, "aps", "the members of aps"),
        ("aps => '{}'", "alert", "unless badge"),
        (#"alert => 'x', aps => '{"alert": "y"}'"#, "alert", #"null if aps has the member "alert", got a value"#),
        (#"alert => '"x"'::jsonb, aps => '{"alert": "y"}'"#, "alert", #"the member "alert""#),
        (#"title => 'x', aps => '{"alert": null}'"#, "title", #"the member "alert""#),
        (#"subtitle => 'x', aps => '{"alert": "y"}'"#, "subtitle", #"the member "alert""#),
        (#"body => 'x', aps => '{"alert": "y"}'"#, "body", #"the member "alert""#),
        (#"badge => 1, aps => '{"badge": 1}'"#, "badge", #"the member "badge""#),
        (#"sound => 'x', aps => '{"sound": "x"}'"#, "sound", #"the member "sound""#),
        (#"content_available => true, aps => '{"content-available": 1}'"#, "content_available", "the member"),
        (#"mutable_content => true, aps => '{"mutable-content": 1}'"#, "mutable_content", "the member"),
        (#"category => 'x', aps => '{"category": "x"}'"#, "category", "the member"),
        (#"thread_id => 'x', aps => '{"thread-id": "x"}'"#, "thread_id", "the member"),
        (#"interruption_level => 'active', aps => '{"interruption-level": "x"}'"#, "interruption_level", "the member"),
        (#"relevance_score => 1, aps => '{"relevance-score": 1}'"#, "relevance_score", "the member"),
        (#"target_content_id => 'x', aps => '{"target-content-id": "x"}'"#, "target_content_id", "the member"),
        (#"filter_criteria => 'x', aps => '{"filter-criteria": "x"}'"#, "filter_criteria", "the member"),
        (#"stale_date => now(), aps => '{"stale-date": 1}'"#, "stale_date", "the member"),
        (
            "alert => 'x', interruption_level => 'Loud'", "interruption_level",
            "one of passive, active, time-sensitive, critical, got 'Loud'"
        ),
        ("alert => 'x', relevance_score => 'NaN'", "relevance_score", "a finite number, got NaN"),
        ("alert => 'x', relevance_score => '-Infinity'", "relevance_score", "a finite number, got -Infinity"),
        ("alert => 'x', stale_date => 'infinity'", "stale_date", "a time from 1970 to 2200"),
        ("alert => 'x', stale_date => '1969-01-01Z'", "stale_date", "a time from 1970 to 2200"),
        (#"aps => jsonb_build_object('x', repeat('b', 5000))"#, "aps", "got one of 5016 bytes"),
        ("alert => 'x', filter_criteria => repeat('b', 5000)", "filter_criteria", "at most 4096 bytes"),
    ]

    @Test func `a member that is given twice, or is not as Apple takes it, is an error`() async throws {
        for (arguments, name, says) in Self.refusals {
            for call in ["enqueue('demo', '{ab}', ", "broadcast('demo', "] {
                let error = await database.refusal(ofValue: "carillon.\(call)\(arguments))", "\(arguments)")
                let message = error?.message ?? ""
                #expect(message.hasPrefix("argument \"\(name)\" takes "), "\(message)")
                #expect(message.contains(says), "\(message)")
            }
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
    }

    @Test(arguments: [
        #"aps => '{"badge": 1}'"#, "aps => '{}'", "interruption_level => 'active'", "relevance_score => 1",
        "target_content_id => 'x'", "filter_criteria => 'x'", "stale_date => now()",
    ])
    func `a payload excludes every member of aps`(argument: String) async throws {
        let error = await database.refusal(ofValue: "carillon.enqueue('demo', '{ab}', payload => '{}', \(argument))")
        #expect(error?.message.hasPrefix("argument \"payload\" takes null if") == true, "\(error as Any)")
    }

    /// The samples of Apple's pages "Generating a remote notification", "Pushing background updates to your App" and
    /// of the keys that they describe.
    private static let samples = [
        (
            """
            title => 'Game Request', subtitle => 'Five Card Draw', body => 'Bob wants to play poker',
            category => 'GAME_INVITATION', extra => '{"gameID": "12345678"}'
            """,
            """
            {"aps": {"alert": {"title": "Game Request", "subtitle": "Five Card Draw", "body": "Bob wants to play poker"},
            "category": "GAME_INVITATION"}, "gameID": "12345678"}
            """, "alert"
        ),
        (
            #"badge => 9, sound => 'bingbong.aiff', extra => '{"messageID": "ABCDEFGHIJ"}'"#,
            #"{"aps": {"badge": 9, "sound": "bingbong.aiff"}, "messageID": "ABCDEFGHIJ"}"#, "alert"
        ),
        (
            #"alert => '{"loc-key": "GAME_PLAY_REQUEST_FORMAT", "loc-args": ["Shelly", "Rick"]}'"#,
            #"{"aps": {"alert": {"loc-key": "GAME_PLAY_REQUEST_FORMAT", "loc-args": ["Shelly", "Rick"]}}}"#, "alert"
        ),
        (
            """
            title => 'Alarm', sound => '{"critical": 1, "name": "alarm.caf", "volume": 1.0}', interruption_level => 'critical'
            """,
            """
            {"aps": {"alert": {"title": "Alarm"}, "sound": {"critical": 1, "name": "alarm.caf", "volume": 1.0},
            "interruption-level": "critical"}}
            """, "alert"
        ),
        (
            #"content_available => true, extra => '{"acme1": "bar", "acme2": 42}'"#,
            #"{"aps": {"content-available": 1}, "acme1": "bar", "acme2": 42}"#, "background"
        ),
        (
            #"push_type => 'voip', extra => '{"handle": "+15550100", "callUUID": "0BC61D68"}'"#,
            #"{"aps": {}, "handle": "+15550100", "callUUID": "0BC61D68"}"#, "voip"
        ),
    ]

    @Test func `arguments make the payloads of Apple's samples`() async throws {
        for (arguments, sample, type) in Self.samples {
            let id = try await database.value("carillon.enqueue('demo', '{ab}', \(arguments))")
            let row = try await database.rows(
                "SELECT payload::jsonb = '\(sample)', push_type FROM carillon.messages WHERE id = \(id ?? "")"
            )
            #expect(row == ["(t,\(type))"], "\(arguments)")
        }
    }

    @Test func `every type of number is a relevance score`() async throws {
        for type in ["smallint", "bigint", "numeric", "real", "double precision"] {
            _ = try await database.value("carillon.enqueue('demo', '{ab}', 'x', relevance_score => 1::\(type))")
        }
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages")
                == [#"("{""aps"":{""alert"":""x"",""relevance-score"":1}}")"#]
        )
    }
}
