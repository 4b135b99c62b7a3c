/// Whether a lane has more than a claim takes, as far as its last claim has shown.
enum Depth: Int, CaseIterable, Sendable {
    case shallow
    case deep

    /// How many claims of such lanes may wait for their answers at once. Those of deep lanes are large: one is being worked
    /// on, the others keep the connection busy. Those of shallow lanes are small, and many, and go together.
    var slots: Int {
        switch self {
        case .shallow: 24
        case .deep: 3
        }
    }
}
