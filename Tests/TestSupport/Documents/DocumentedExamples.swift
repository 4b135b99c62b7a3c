import FoundationEssentials

/// The examples in Swift of a page, or of all pages of a folder.
package struct DocumentedExamples {
    /// Lines without their indentation and without empty lines.
    package let all: [[String]]

    package init(in path: String) throws {
        let place = GeneratedPage(path).file
        var files = [place]
        if !path.hasSuffix(".md") {
            files = try FileManager.default.contentsOfDirectory(atPath: place).sorted().map { place + "/" + $0 }
        }
        var all: [[String]] = []
        for file in files where file.hasSuffix(".md") {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            for example in text.matches(of: #/```swift\n((?:[^`]|`(?!``))*)```/#) {
                all.append(Self.lines(of: String(example.output.1)))
            }
        }
        self.all = all
    }

    /// The first line of each example whose lines do not stand in a file of that folder, one after the other.
    package func missing(from folder: String) throws -> [String] {
        let place = GeneratedPage(folder).file
        let files = try FileManager.default.contentsOfDirectory(atPath: place).map { file in
            Self.lines(of: try String(contentsOfFile: place + "/" + file, encoding: .utf8))
        }
        return all.filter { example in
            !files.contains { lines in lines.indices.contains { lines[$0...].starts(with: example) } }
        }.map { $0.first ?? "" }
    }

    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }
}
