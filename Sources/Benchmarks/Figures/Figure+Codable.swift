/// The form in `docs/benchmarks.json`: a ratio names what it relates to.
extension Figure: Codable {
    private enum Key: String, CodingKey { case name, of, value, unit, atLeast, aim, atMost }

    private static let ratioSign = " / "

    /// Its name says what it relates to. Of other ratios, such as requests a push, the name is the unit.
    var isQuotient: Bool { unit == .ratio && name.contains(Self.ratioSign) }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let of = try fields.decodeIfPresent(String.self, forKey: .of)
        let bound: Bound? =
            if let least = try fields.decodeIfPresent(Double.self, forKey: .atLeast) {
                .atLeast(least, aim: try fields.decodeIfPresent(Double.self, forKey: .aim))
            } else {
                try fields.decodeIfPresent(Double.self, forKey: .atMost).map { .atMost($0) }
            }
        self.init(
            name: try fields.decode(String.self, forKey: .name) + (of.map { Self.ratioSign + $0 } ?? ""),
            value: try fields.decode(Double.self, forKey: .value),
            unit: try fields.decode(Unit.self, forKey: .unit),
            bound: bound,
            isJudged: true
        )
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        if isQuotient, let sign = name.firstRange(of: Self.ratioSign) {
            try fields.encode(String(name[..<sign.lowerBound]), forKey: .name)
            try fields.encode(String(name[sign.upperBound...]), forKey: .of)
        } else {
            try fields.encode(name, forKey: .name)
        }
        try fields.encode((value * 1_000).rounded() / 1_000, forKey: .value)
        try fields.encode(unit, forKey: .unit)
        switch bound {
        case .atLeast(let least, let aim):
            try fields.encode(least, forKey: .atLeast)
            try fields.encodeIfPresent(aim, forKey: .aim)
        case .atMost(let most): try fields.encode(most, forKey: .atMost)
        case nil: break
        }
    }
}
