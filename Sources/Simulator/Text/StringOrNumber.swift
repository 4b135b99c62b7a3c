/// A member of JSON that should be a string or a number; neither, if it has another type.
struct StringOrNumber: Decodable {
    let text: String?
    let number: Double?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        text = try? container.decode(String.self)
        number = try? container.decode(Double.self)
    }
}
