package protocol JSONConvertible {
    var json: JSONValue { get }
}

extension JSONConvertible where Self: BinaryInteger { package var json: JSONValue { .int(Int64(self)) } }
