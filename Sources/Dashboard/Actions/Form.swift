import CarillonPostgres
import CarillonText
import CarillonWeb

/// The fields of a submitted form.
struct Form: Sendable {
    /// The functions take at most this many characters.
    static let reasonLength = 1_000
    private static let type = "application/x-www-form-urlencoded"

    private let fields: [(name: String, value: String)]

    init(_ request: Request) throws {
        guard request.mediaType ?? Self.type == Self.type else { throw RequestError.notForm }
        guard let fields = FormFields.read(request.body) else {
            throw RequestError.badRequest("This is not a form of this server.")
        }
        self.fields = fields
    }

    /// The text as it was entered; nil if the field is missing or empty.
    func whole(_ name: String) -> String? {
        fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// The text without spaces at both ends; nil if nothing is left.
    subscript(name: String) -> String? {
        guard let value = whole(name)?.trimmed, !value.isEmpty else { return nil }
        return value
    }

    /// Why something is paused; nil if no reason was entered.
    func reason() throws -> String? {
        let reason = self["reason"]
        guard (reason?.unicodeScalars.count ?? 0) <= Self.reasonLength else {
            throw RequestError.badRequest("The reason can have at most \(Self.reasonLength.grouped) characters.")
        }
        return reason
    }

    func isOn(_ name: String) -> Bool { whole(name) != nil }

    /// The number in a field; nil if the field is empty.
    func number(_ name: String, called label: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw RequestError.badRequest("\(label) takes a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    func moment(_ name: String) throws -> Moment {
        guard let value = self[name].flatMap(Int64.init), (0...4_102_444_800_000_000).contains(value) else {
            throw RequestError.badRequest("'\(name)' is a time in microseconds since 1970.")
        }
        return Moment(value)
    }
}
