import CarillonIO

extension Duration {
    /// With one digit after the point, for people.
    var inSeconds: String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
