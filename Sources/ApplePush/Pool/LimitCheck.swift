/// Finds a limit that no connection could meet. Such a limit is a mistake in the program that set it.
struct LimitCheck {
    /// The type of the configuration.
    private let configuration: String
    /// What is wrong with the first such limit; nil if nothing is.
    private(set) var mistake: String?

    init(_ configuration: String) { self.configuration = configuration }

    mutating func count(_ name: String, _ value: Int) {
        if value < 1 { note(name, "takes a number above 0", "\(value)") }
    }

    mutating func time(_ name: String, _ value: Duration) {
        if value <= .zero { note(name, "takes a duration above zero", "\(value)") }
    }

    /// A time that may be zero.
    mutating func delay(_ name: String, _ value: Duration) {
        if value < .zero { note(name, "takes a duration that is not negative", "\(value)") }
    }

    private mutating func note(_ name: String, _ takes: String, _ got: String) {
        if mistake == nil { mistake = "\(configuration).\(name) \(takes), got \(got)." }
    }

    /// Stops the program at a mistake, in every build.
    func enforce() {
        if let mistake { fatalError(mistake) }
    }
}
