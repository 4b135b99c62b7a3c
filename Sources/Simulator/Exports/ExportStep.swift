/// A request to the export service of metrics. The raw value names the rules of ``AnswerRule`` for it.
enum ExportStep: String, CaseIterable, Sendable {
    /// For an export.
    case export
    /// For its state.
    case poll
    /// For its file.
    case download
}
