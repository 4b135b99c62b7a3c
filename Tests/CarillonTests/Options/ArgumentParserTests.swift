import CarillonPostgres
import CarillonText
import CarillonWeb
import TestSupport
import Testing

@testable import Carillon

@Suite struct ArgumentParserTests {
    /// A command that takes an option of every kind.
    private static let sample = Command(
        "sample run",
        roles: [],
        summary: "Try the table.",
        arguments: [Argument("NAME", required: false, "a name")],
        options: [
            .once, .maxInFlight, .lease, .http, .file, .environment, .database, .passphrase, .token, .json, .badge,
            .webhookProxy,
        ],
        run: { _ in .done }
    )
    private static let strict = Command(
        "strict",
        roles: [],
        summary: "Try what is required.",
        arguments: [Argument("NAME", "a name")],
        required: [.topic],
        run: { _ in .done }
    )

    private func request(
        _ words: String...,
        environment: [String: String] = [:]
    ) throws(UsageError) -> ArgumentParser.Request {
        try ArgumentParser(commands: [Self.sample, Self.strict], environment: environment).parse(words)
    }

    private func settings(_ words: [String], environment: [String: String] = [:]) throws -> Settings {
        let parser = ArgumentParser(commands: [Self.sample, Self.strict], environment: environment)
        guard case .run(_, _, let settings) = try parser.parse(["sample", "run"] + words) else {
            throw UsageError("no run")
        }
        return settings
    }

    private func refusal(_ words: [String], environment: [String: String] = [:]) -> String? {
        let parser = ArgumentParser(commands: [Self.sample, Self.strict], environment: environment)
        do throws(UsageError) {
            _ = try parser.parse(words)
            return nil
        } catch {
            return error.sentence
        }
    }

    @Test func `an option of every kind is read from its argument`() throws {
        let settings = try settings([
            "--once", "--max-in-flight", "12", "--lease=20s", "--http", ":9464", "--file", "a.pem", "--environment",
            "sandbox", "--token", "aa", "--token", "bb",
        ])
        #expect(settings.isOn(.once))
        #expect(settings.count(.maxInFlight) == 12)
        #expect(settings.duration(.lease) == .seconds(20))
        #expect(settings.address(.http) == Address(host: "0.0.0.0", port: 9464))
        #expect(settings.text(.file) == "a.pem")
        #expect(settings.text(.environment) == "sandbox")
        #expect(settings.texts(.token) == ["aa", "bb"])
        #expect(settings.countIfAny(.badge) == nil)
    }

    @Test func `an argument counts before a variable, and that before the default`() throws {
        let environment = ["CARILLON_LEASE": "30s"]
        #expect(try settings([]).duration(.lease) == .seconds(15))
        #expect(try settings([], environment: environment).duration(.lease) == .seconds(30))
        #expect(try settings(["--lease", "40s"], environment: environment).duration(.lease) == .seconds(40))
        #expect(try settings([]).isChosen(.lease) == false)
        #expect(try settings([], environment: environment).isChosen(.lease))
    }

    @Test func `our own variable counts before the customary one`() throws {
        let both = ["DATABASE_URL": "postgres://theirs", "CARILLON_DATABASE": "postgres://ours"]
        #expect(try settings([], environment: both).database.current() == "postgres://ours")
        let theirs = ["DATABASE_URL": "postgres://theirs"]
        #expect(try settings([], environment: theirs).database.current() == "postgres://theirs")
    }

    @Test func `a variable turns a flag on and off, and holds several values between commas`() throws {
        #expect(try settings([], environment: ["CARILLON_ONCE": "yes"]).isOn(.once))
        #expect(try settings([], environment: ["CARILLON_ONCE": "0"]).isOn(.once) == false)
        #expect(try settings(["--once=false"], environment: ["CARILLON_ONCE": "1"]).isOn(.once) == false)
        #expect(try settings([], environment: ["CARILLON_TOKEN": "aa,bb"]).texts(.token) == ["aa", "bb"])
    }

    @Test func `a secret is read from the file that a flag or a variable names, without the last line break`() throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write("secret", "hunter2 and more\n")
            #expect(try settings(["--passphrase-file", path]).text(.passphrase) == "hunter2 and more")
            let environment = ["CARILLON_PASSPHRASE_FILE": path, "DATABASE_URL_FILE": path]
            #expect(try settings([], environment: environment).text(.passphrase) == "hunter2 and more")
            #expect(try settings([], environment: environment).database.current() == "hunter2 and more")
        }
    }

    @Test(arguments: [
        (
            ["sample", "run", "--lease", "10"],
            "--lease takes a duration from 2s to 10m, written like 250ms, 10s or 5m, not '10'."
        ),
        (
            ["sample", "run", "--max-in-flight", "0"],
            "--max-in-flight takes a whole number from 1 to 1000000, not '0'."
        ),
        (["sample", "run", "--http", "nowhere"], "--http takes an address such as 127.0.0.1:9464, not 'nowhere'."),
        (["sample", "run", "--environment", "test"], "--environment takes production or sandbox, not 'test'."),
        (["sample", "run", "--once=perhaps"], "--once takes true or false, not 'perhaps'."),
        (
            ["sample", "run", "--lease"],
            "--lease needs a value after it; it takes a duration from 2s to 10m, written like 250ms, 10s or 5m."
        ),
        (["sample", "run", "--lease", "9s", "--lease", "8s"], "--lease is given more than once."),
        (["sample", "run", "--leese", "9s"], "carillon sample run has no option --leese. Did you mean --lease?"),
        (
            ["sample", "run", "--topic", "x"],
            "carillon sample run has no option --topic; it belongs to carillon strict."
        ),
        (["sample", "run", "-x"], "There is no option -x; options are written with two dashes, like --help."),
        (["sample", "run", "a", "b"], "carillon sample run takes no word 'b' there."),
        (["sample"], "carillon sample takes one of: run."),
        (["sample", "rnu"], "carillon sample knows no command 'rnu'. Did you mean 'run'?"),
        (["strcit"], "carillon knows no command 'strcit'. Did you mean 'strict'?"),
        (["strict"], "carillon strict needs NAME: a name"),
        (["strict", "a"], "carillon strict needs --topic TOPIC: The app's topic, which is its bundle ID."),
    ])
    func `arguments that cannot be followed are refused in a sentence`(words: [String], sentence: String) {
        #expect(refusal(words) == sentence)
    }

    @Test func `a variable that cannot be followed is named`() {
        let sentence = refusal(["sample", "run"], environment: ["CARILLON_LEASE": "soon"])
        #expect(sentence?.hasPrefix("CARILLON_LEASE takes a duration") == true)
    }

    @Test func `a secret is refused as an argument, without being repeated`() throws {
        let sentence = try #require(refusal(["sample", "run", "--passphrase", "hunter2"]))
        #expect(sentence.contains("--passphrase-file"))
        #expect(!sentence.contains("hunter2"))
    }

    @Test func `a secret's file that is not there is named`() throws {
        let sentence = try #require(refusal(["sample", "run", "--passphrase-file", "/nowhere/at-all"]))
        #expect(sentence.contains("/nowhere/at-all") && sentence.contains("no such file"))
    }

    @Test(arguments: [
        "http://proxy.example:3128", "https://proxy.example:1/", "http://user:p%40ss:w-1~@10.0.0.1:65535",
        "http://[fd00::1]:8080",
    ])
    func `a proxy is a URL with a port, and may have a password`(text: String) throws {
        #expect(try settings(["--webhook-proxy", text]).text(.webhookProxy) == text)
    }

    @Test(arguments: [
        "", "proxy.example:3128", "ftp://proxy.example:21", "socks5://proxy.example:1080", "http://proxy.example",
        "http://:3128", "http://", "http:// proxy.example:3128", "http://proxy example:3128", "http://proxy.example:0",
        "http://proxy.example:65536", "http://canary@secret@proxy.example:3128", "http://proxy.example:3128/canary",
        "http://proxy.example:3128\n", "http://[fd00::1:3128", "http://us\u{1}er:canary@proxy.example:3128",
    ])
    func `anything else is refused as a proxy, with what to write, and without being repeated`(text: String) {
        let sentence = "takes the URL of a proxy with its port, such as http://proxy.example:3128."
        #expect(refusal(["sample", "run", "--webhook-proxy", text]) == "--webhook-proxy \(sentence)")
        guard !text.isEmpty else { return }
        #expect(
            refusal(["sample", "run"], environment: ["CARILLON_WEBHOOK_PROXY": text])
                == "CARILLON_WEBHOOK_PROXY \(sentence)"
        )
    }

    @Test(arguments: [Option.webhookProxy, .passphrase])
    func `an empty file of a secret is named, with what to write into it`(option: Option) throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write("empty", "\n")
            let flag = try #require(option.fileFlag)
            let sentence = "The file \(path) is empty: write the value of --\(option.flag) into it."
            #expect(refusal(["sample", "run", "--\(flag)", path]) == "--\(flag): \(sentence)")
            let variable = option.variable + "_FILE"
            #expect(refusal(["sample", "run"], environment: [variable: path]) == "\(variable): \(sentence)")
        }
    }

    @Test func `flags may stand before the command, and two dashes end them`() throws {
        guard
            case .run(let command, let arguments, let settings) =
                try request("--lease", "9s", "sample", "run", "--", "--name")
        else {
            Issue.record("it was a command to run")
            return
        }
        #expect(command.words == ["sample", "run"])
        #expect(arguments == ["--name"])
        #expect(settings.duration(.lease) == .seconds(9))
    }

    @Test(arguments: [
        (["--help"], []), (["help"], []), (["help", "sample"], ["sample"]), (["sample", "--help"], ["sample"]),
        (["sample", "run", "-h"], ["sample", "run"]), (["help", "sample", "run"], ["sample", "run"]),
        (["strict", "--help"], ["strict"]),
    ])
    func `help is found wherever it is asked for`(words: [String], topic: [String]) throws {
        let parser = ArgumentParser(commands: [Self.sample, Self.strict], environment: [:])
        guard case .help(let found) = try parser.parse(words) else {
            Issue.record("it was a request for help")
            return
        }
        #expect(found == topic)
    }
}
