extension CommandError {
    /// What any error of ours means for the person who called the command.
    init(explaining error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(.usage, error.sentence)
        case let error as FileError: self.init(.configuration, error.sentence)
        default: self.init(.failed, String(describing: error))
        }
    }
}
