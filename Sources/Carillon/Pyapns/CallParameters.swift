import CarillonText

/// Takes the parameters of a call in order, each of the type that the method expects.
struct CallParameters {
    private let method: String
    private var rest: ArraySlice<XMLRPCValue>

    init(_ call: XMLRPCCall) {
        method = call.method
        rest = call.parameters[...]
    }

    mutating func next(_ name: String) throws(XMLRPCFault) -> XMLRPCValue {
        guard let value = rest.popFirst() else {
            throw XMLRPCFault(.refused, "\(method) needs the argument \(name), which is missing.")
        }
        return value
    }

    mutating func text(_ name: String) throws(XMLRPCFault) -> String {
        switch try next(name) {
        case .string(let text): return text
        // Python 3 sends bytes in this form.
        case .base64(let bytes):
            if let text = String(validating: bytes, as: UTF8.self), text.isCheapToCompare { return text }
            throw refusal(of: name, "text", got: "other binary data")
        case let value: throw refusal(of: name, "a string", got: value.kind)
        }
    }

    /// Skips a parameter that is not used, whatever its type.
    mutating func skip() { _ = rest.popFirst() }

    func end() throws(XMLRPCFault) {
        if let surplus = rest.first {
            throw XMLRPCFault(.refused, "\(method) takes no further argument, and got \(surplus.kind).")
        }
    }

    func refusal(of name: String, _ takes: String, got: String) -> XMLRPCFault {
        XMLRPCFault(.refused, "The argument \(name) of \(method) takes \(takes), not \(got).")
    }
}
