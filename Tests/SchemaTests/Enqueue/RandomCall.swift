/// A call of `enqueue` with arguments that are drawn from usual values and from those that a check is for. The values are
/// written so that they mean the same whatever `standard_conforming_strings` says.
struct RandomCall {
    let app: String
    let tokens: String
    /// In the order of their names, so that a seed always makes the same call.
    let arguments: [(name: String, value: String)]

    init(using random: inout some RandomNumberGenerator) {
        app = Self.pick(["'demo'", "'demo'", "'demo'", "'demo'", "'binary'", "'nope'", "NULL"], &random)
        tokens = Self.pick(Bool.random(using: &random) ? ["'{ab}'"] : Self.tokens, &random)
        arguments = Self.values.keys.sorted().compactMap { name in
            guard let (oneIn, values) = Self.values[name], Int.random(in: 0..<oneIn, using: &random) == 0 else {
                return nil
            }
            return (name, Self.pick(values, &random))
        }
    }

    /// The call of `enqueue`, with the arguments of these names or with all, and with others in addition.
    func enqueue(only names: [String]? = nil, _ others: String...) -> String {
        let chosen = arguments.filter { names?.contains($0.name) ?? true }.map { "\($0.name) => \($0.value)" }
        return "enqueue(\(([app, tokens] + chosen + others).joined(separator: ", ")))"
    }

    /// The call of `push` with the values of these arguments, by place.
    func push(_ names: [String]) -> String {
        "push(\(([app, tokens] + names.map { self[$0] ?? "NULL" }).joined(separator: ", ")))"
    }

    subscript(_ name: String) -> String? { arguments.first { $0.name == name }?.value }

    private static func pick(_ values: [String], _ random: inout some RandomNumberGenerator) -> String {
        values[Int.random(in: values.indices, using: &random)]
    }

    private static let tokens = [
        "ARRAY['AB12']", "'{ab,cd,ab}'", "'{}'", "NULL", "'{xy}'", "'{ab,NULL}'", "'[5:5]={ab}'", "'{{ab}}'", "'{abc}'",
        "ARRAY[repeat('a', 512)]", "ARRAY[repeat('a', 514)]", "ARRAY['ab' || chr(10)]",
        "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 1001) i)",
    ]

    private static let texts = [
        "'Hello'", "''", "'Hello \"you\"'", "'back' || chr(92) || 'slash'", "'line' || chr(10) || 'and tab' || chr(9)",
        "'{name} is here'", "' {\"title\":\"A: b\"}'", "'{\"a'", "repeat('é', 40)", "chr(1) || 'ctl'",
        "repeat('x', 2030)", "repeat('x', 4070)", "'[1]'", "'\"q\"'", "'null'", "'7'", "NULL",
    ]

    private static let alerts: [String] =
        texts + [#"'{"title":"A: b", "body":"c"}'::jsonb"#, "'[1]'::jsonb", #"'"x"'::json"#, "7"]

    private static let sounds: [String] =
        texts + ["'default'", #"'{"critical":1,"name":"a","volume":1}'"#, #"'{"cri'"#]

    static let payloads = [
        #"'{"aps":{"alert":"x"}}'"#, #"'{"aps":{"alert":{"title":"a","body":"b"},"badge":1}}'"#,
        #"'{"aps":{"content-available":1}}'"#, #"'{"aps":{"alert":"x","content-available":1}}'"#,
        #"' {"aps" : {"alert" : "x"}} '"#, #"'{"aps":{"alert":null}}'"#, #"'{"aps":{"alert" : null,"badge":2}}'"#,
        #"'{"aps":[]}'"#, #"'{"aps":"alert"}'"#, #"'{"aps":{"alert":false}}'"#, #"'{"aps":{"sound":"s"}}'"#,
        #"'{"aps":{"alert":"x"},"aps":{}}'"#, #"'{"aps":{},"aps":{"alert":"y"}}'"#, #"'{"alert":"x"}'"#,
        #"E'{"aps":{"alert":"\\u0000"}}'"#, #"E'{"aps":{"alert":"\\ud800"}}'"#, #"'{"a":1}'"#, "'{}'", "'[]'", "'null'",
        #"'"x"'"#, "'7'", "''", "'{'", #"'{"aps":{"alert":"x"}'"#, #"'{"aps":{"alert":"x"}} more'"#, "NULL",
        #"E'{"aps":{"alert":"a, b: c \\"d\\": e"},"k":[1, 2]}'"#, #"E'{"aps":{"category":"alert\\":\\"x"}}'"#,
        #"'{"aps":{"alert":"' || repeat('x', 2040) || '"}}'"#, #"'{"aps":{"alert":"' || repeat('x', 4090) || '"}}'"#,
    ]

    private static let allPayloads: [String] =
        payloads + [#"'{"aps":{"alert":"x: y"}}'::jsonb"#, #"'{ "aps":{"alert":"x"}}'::json"#, "7"]

    /// The values of each argument but the app, the tokens and the lane, and how rarely it is given: once in so many calls.
    static let values: [String: (oneIn: Int, values: [String])] = [
        "alert": (2, alerts),
        "title": (6, texts), "subtitle": (8, texts), "body": (6, texts),
        "badge": (3, ["0", "1", "2147483647", "2147483648", "-1", "NULL"]), "badge_add": (30, ["1", "NULL"]),
        "sound": (4, sounds),
        "content_available": (8, ["true", "false", "NULL"]), "mutable_content": (8, ["true", "false", "NULL"]),
        "category": (8, texts), "thread_id": (8, texts),
        "extra": (6, ["'{}'", "'{\"a\":1}'", #"'{"k":"a: b, c","l":[1,2]}'"#, "'{\"aps\":{}}'", "'[1]'", "'null'"]),
        "payload": (5, allPayloads),
        "payloads": (30, [#"ARRAY['{"aps":{"alert":"x"}}']"#, "ARRAY['{']", "'{}'"]),
        "push_type": (15, ["'alert'", "'background'", "'voip'", "'sms'", "NULL"]),
        "priority": (15, ["5", "10", "7", "NULL"]),
        "expires_at": (20, ["'2100-01-01Z'", "'infinity'", "'epoch'", "NULL"]),
        "run_at": (20, ["'2100-01-01Z'", "'2001-01-01Z'", "'infinity'", "NULL"]),
        "collapse_id": (20, ["'a'", "' a'", "''", "repeat('x', 65)", "'back' || chr(92) || 's'", "NULL"]),
        "topic": (20, ["'com.example.demo'", "'com.other'", "''", "NULL"]),
        "reference": (8, ["'r'", "''", "repeat('x', 1024)", "repeat('é', 600)", "NULL"]),
        "dedupe_key": (20, ["'k'", "''", "NULL"]), "dedupe_for": (40, ["'1 day'", "'-1 s'", "NULL"]),
        "on_unknown": (20, ["'retry'", "'fail'", "'maybe'", "NULL"]),
        "on_duplicate": (20, ["'null'", "'existing'", "'raise'", "NULL"]), "strict": (20, ["true", "NULL"]),
        "aps": (15, ["'{}'", "'{\"badge\":2}'", "'{\"alert\":\"z\"}'", "'{\"content-available\":1}'", "'[]'"]),
        "interruption_level": (30, ["'passive'", "'loud'", "NULL"]), "relevance_score": (30, ["0.5", "'NaN'", "NULL"]),
        "target_content_id": (30, texts), "filter_criteria": (30, texts),
        "bodies": (30, [#"'{"default":"x","de":{"title":"y"}}'"#, #"'{"de":"y"}'"#, "NULL"]),
        "stale_date": (30, ["'2100-01-01Z'", "'1960-01-01Z'", "NULL"]),
    ]
}
