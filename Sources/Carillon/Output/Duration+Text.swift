import CarillonIO

extension Duration {
    /// In seconds, with one digit after the point, for people.
    var secondsText: String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
