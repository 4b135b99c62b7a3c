import FoundationEssentials

/// Writes the response to a call.
enum XMLRPCResponse {
    static func document(_ result: Result<XMLRPCValue, XMLRPCFault>) -> [UInt8] {
        var text = "<?xml version='1.0' encoding='UTF-8'?>\n<methodResponse>"
        switch result {
        case .success(let value):
            text += "<params><param>"
            write(value, to: &text)
            text += "</param></params>"
        case .failure(let fault):
            text += "<fault>"
            let members = [
                ("faultCode", XMLRPCValue.int(Int64(fault.code.rawValue))), ("faultString", .string(fault.text)),
            ]
            write(.structure(members.map { .init(name: $0, value: $1) }), to: &text)
            text += "</fault>"
        }
        text += "</methodResponse>\n"
        return Array(text.utf8)
    }

    private static func write(_ value: XMLRPCValue, to text: inout String) {
        text += "<value>"
        switch value {
        case .none: text += "<nil/>"
        case .bool(let value): text += "<boolean>\(value ? 1 : 0)</boolean>"
        case .int(let value):
            // Clients may refuse <int> beyond 32 bits.
            text += Int32(exactly: value) == nil ? "<i8>\(value)</i8>" : "<int>\(value)</int>"
        case .double(let value): text += "<double>\(value)</double>"
        case .string(let value): text += "<string>\(escaped(value))</string>"
        case .dateTime(let value): text += "<dateTime.iso8601>\(escaped(value))</dateTime.iso8601>"
        case .base64(let bytes): text += "<base64>\(Data(bytes).base64EncodedString())</base64>"
        case .array(let values):
            text += "<array><data>"
            for value in values { write(value, to: &text) }
            text += "</data></array>"
        case .structure(let members):
            text += "<struct>"
            for member in members {
                text += "<member><name>\(escaped(member.name))</name>"
                write(member.value, to: &text)
                text += "</member>"
            }
            text += "</struct>"
        }
        text += "</value>"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\r": escaped += "&#13;"  // an XML reader would turn it into a line feed
            // XML has no form for other control characters.
            case _ where scalar.value < 32 && scalar != "\n" && scalar != "\t": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
