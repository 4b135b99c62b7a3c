import CarillonText
import CarillonWeb
import FoundationEssentials

/// A call: the name of a method, and its parameters.
struct XMLRPCCall: Equatable, Sendable {
    let method: String
    let parameters: [XMLRPCValue]

    init(_ document: [UInt8]) throws(XMLRPCFault) {
        do throws(XMLError) {
            var reader = try Reader(document)
            (method, parameters) = try reader.call()
        } catch {
            throw XMLRPCFault(.refused, "This is not an XML-RPC call: \(error.reason) (at byte \(error.place)).")
        }
    }
}

/// The grammar of a call. `XMLReader` has checked that start and end tags match.
private struct Reader: ~Copyable {
    /// A value takes more memory than its text may have bytes. 10,000 notifications have fewer than this.
    private static let maxValues = 300_000

    private var xml: XMLReader
    private var values = 0

    init(_ document: [UInt8]) throws(XMLError) { xml = try XMLReader(document) }

    mutating func call() throws(XMLError) -> (String, [XMLRPCValue]) {
        try start(of: "methodCall")
        try start(of: "methodName")
        let method = try content().trimmed
        var parameters: [XMLRPCValue] = []
        if let element = try child() {
            guard element == "params" else { throw error("<\(element)> in place of <params>") }
            while let element = try child() {
                guard element == "param" else { throw error("<\(element)> in place of <param>") }
                try start(of: "value")
                parameters.append(try value())
                try end(of: "param")
            }
            try end(of: "methodCall")
        }
        while case let event = try xml.next(), event != .over {
            guard case .text = event else { throw error("something after the call") }
        }
        return (method, parameters)
    }

    // MARK: Values

    /// The rest of a value, after its start tag.
    private mutating func value() throws(XMLError) -> XMLRPCValue {
        values += 1
        guard values <= Self.maxValues else { throw error("more than \(Self.maxValues.grouped) values") }
        var text = ""
        while true {
            switch try xml.next() {
            case .text(let more): text += more
            case .end, .over: return .string(try checked(text))  // a value without a type is a string
            case .start(let type):
                guard text.trimmed.isEmpty else { throw error("text beside <\(type)>") }
                let value = try value(of: type)
                try end(of: "value")
                return value
            }
        }
    }

    private mutating func value(of type: String) throws(XMLError) -> XMLRPCValue {
        switch type {
        case "string": return .string(try content())
        case "int", "i4", "i8", "ex:i8": return .int(try scalar(type) { Int64($0) })
        case "boolean": return .bool(try scalar(type) { ["0": false, "1": true][$0] })
        case "double":
            let text = try content().trimmed
            guard let number = Self.double(text) else {
                throw error("<double> takes a finite number, not '\(text.prefix(40))'")
            }
            return .double(number)
        case "dateTime.iso8601":
            return .dateTime(try scalar(type) { $0.wholeMatch(of: /\d{8}T\d\d:\d\d:\d\d/).map { String($0.output) } })
        case "base64":
            return .base64(
                try scalar(type) { Data(base64Encoded: $0, options: .ignoreUnknownCharacters).map { Array($0) } }
            )
        case "nil", "ex:nil":
            try end(of: type)
            return .none
        case "array": return .array(try array())
        case "struct": return .structure(try members())
        default: throw error("<\(type)>, which is not a type of value")
        }
    }

    /// Accepts only what XML-RPC allows: no hexadecimal digits, no infinity.
    private static func double(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    private mutating func scalar<Value>(_ type: String, _ parse: (String) -> Value?) throws(XMLError) -> Value {
        let text = try content().trimmed
        guard let value = parse(text) else { throw error("<\(type)> with content of another type") }
        return value
    }

    private mutating func array() throws(XMLError) -> [XMLRPCValue] {
        try start(of: "data")
        var values: [XMLRPCValue] = []
        while let element = try child() {
            guard element == "value" else { throw error("<\(element)> in place of <value>") }
            values.append(try value())
        }
        try end(of: "array")
        return values
    }

    private mutating func members() throws(XMLError) -> [XMLRPCValue.Member] {
        var members: [XMLRPCValue.Member] = []
        var indices: [String: Int] = [:]
        while let element = try child() {
            guard element == "member" else { throw error("<\(element)> in place of <member>") }
            try start(of: "name")
            let name = try content()
            try start(of: "value")
            let member = XMLRPCValue.Member(name: name, value: try value())
            try end(of: "member")
            // If a name is repeated, its last value counts, as in Python.
            if let index = indices[name] {
                members[index] = member
            } else {
                indices[name] = members.count
                members.append(member)
            }
        }
        return members
    }

    // MARK: Elements

    /// The text up to the end of the current element.
    private mutating func content() throws(XMLError) -> String {
        var text = ""
        while true {
            switch try xml.next() {
            case .text(let more): text += more
            case .end, .over: return try checked(text)
            case .start(let name): throw error("<\(name)> where text belongs")
            }
        }
    }

    private func checked(_ text: String) throws(XMLError) -> String {
        guard text.isCheapToCompare else { throw error("more than 128 combining characters in a row") }
        return text
    }

    /// The name of the next child element; nil at the end of the current element.
    private mutating func child() throws(XMLError) -> String? {
        while true {
            switch try xml.next() {
            case .text(let text):
                guard text.trimmed.isEmpty else { throw error("text where an element belongs") }
            case .start(let name): return name
            case .end, .over: return nil
            }
        }
    }

    private mutating func start(of name: String) throws(XMLError) {
        let found = try child()
        guard found == name else {
            throw error(found.map { "<\($0)> in place of <\(name)>" } ?? "<\(name)> is missing")
        }
    }

    private mutating func end(of name: String) throws(XMLError) {
        if let found = try child() { throw error("<\(found)> where <\(name)> ends") }
    }

    private func error(_ reason: String) -> XMLError { XMLError(reason: reason, place: xml.place) }
}
