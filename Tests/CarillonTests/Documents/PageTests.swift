import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// What can be checked of every page: that what it names exists.
@Suite struct PageTests {
    private static let pages: [String] = {
        var pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        for folder in ["docs", "docs/languages"] {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: GeneratedPage(folder).file)) ?? []
            pages += files.filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
        }
        return pages
    }()

    private static func text(of page: String) throws -> String { try GeneratedPage(page).text }

    @Test func `the README has at most 150 lines`() throws {
        #expect(Self.pages.count > 15)
        #expect(try Self.text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
    }

    @Test func `the index of the documentation has every page`() throws {
        let index = try Self.text(of: "docs/README.md")
        for page in Self.pages where page.hasPrefix("docs/") && page != "docs/README.md" {
            #expect(index.contains("](\(page.dropFirst(5)))"), "\(page)")
        }
    }

    @Test(arguments: pages)
    func `every link within the repository leads to a file and a heading`(page: String) throws {
        let folder = page.split(separator: "/").dropLast().joined(separator: "/")
        let links = try Self.text(of: page).matches(of: #/(?:\]\(|src="|srcset=")([^)"]+)[)"]/#).map(\.output.1)
        for link in links where !link.contains("://") {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target = parts[0].isEmpty ? page : Self.resolve(parts[0], in: folder)
            guard FileManager.default.fileExists(atPath: GeneratedPage(target).file) else {
                Issue.record("\(page) links to \(link)")
                continue
            }
            guard parts.count == 2 else { continue }
            #expect(try Self.anchors(of: target).contains(String(parts[1])), "\(page) links to \(link)")
        }
    }

    @Test(arguments: pages)
    func `every command and option that a page shows exists`(page: String) throws {
        let text = try Self.text(of: page)
        var lines: [Substring] = []
        for box in text.matches(of: #/```sh\n((?:[^`]|`(?!``))*)```/#) {
            lines += box.output.1.replacing("\\\n", with: " ").split(separator: "\n").map { $0.prefix { $0 != "#" } }
        }
        lines += text.matches(of: #/`(carillon [a-z][^`\n]*)`/#).map(\.output.1)
        for line in lines where line.hasPrefix("carillon ") && !line.hasPrefix("carillon COMMAND") {
            let words = line.split(separator: " ").dropFirst().map(String.init)
            let command = Command.all.filter { words.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
            guard let command else {
                // The name of several commands, as in `carillon tokens`.
                #expect(words.count == 1 && Command.all.contains { $0.words.first == words[0] }, "\(page): \(line)")
                continue
            }
            for word in words where word.hasPrefix("--") {
                let flag = String(word.dropFirst(2).prefix { $0 != "=" })
                #expect(command.allOptions.contains { $0.flags.contains(flag) } || flag == "help", "\(page): \(line)")
            }
        }
    }

    @Test(arguments: pages)
    func `every target of make that a page names exists`(page: String) throws {
        let makefile = try Self.text(of: "Makefile")
        for target in try Self.text(of: page).matches(of: #/(?:`|\n)make ([a-z-]+)/#).map(\.output.1) {
            #expect(makefile.contains("\n\(target):"), "\(page): make \(target)")
        }
    }

    @Test(arguments: ["docs/architecture.md", "CONTRIBUTING.md", "docs/recipes.md", "docs/testing.md"])
    func `every source file and folder that a page names exists`(page: String) throws {
        let root = GeneratedPage("").file
        var files: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: root + "Sources") {
            files.insert(String(path.split(separator: "/").last ?? ""))
        }
        let names = try Self.text(of: page).matches(of: #/`([A-Za-z+0-9_.\/]+)`/#).map { String($0.output.1) }
        for name in names {
            if name.contains("/"), !name.hasPrefix("/"), name != ".docs/" {
                let paths = [root + name, root + "Sources/" + name]
                #expect(paths.contains { FileManager.default.fileExists(atPath: $0) }, "\(page): \(name)")
            } else if name.hasSuffix(".swift") {
                #expect(files.contains(name), "\(page): \(name)")
            }
        }
    }

    @Test func `every picture is shown by a page`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: GeneratedPage("docs/images").file)
        #expect(try files.sorted() == ShownPicture.all.map(\.file).sorted())
    }

    @Test(arguments: ["## Values that decide", "## The parts of a worker"])
    func `every type that a table of the architecture names has its file`(heading: String) throws {
        let page = try Self.text(of: "docs/architecture.md")
        let section = try #require(page.split(separator: heading).last?.split(separator: "\n## ").first)
        let table = section.split(separator: "\n").filter { $0.hasPrefix("|") }.joined(separator: "\n")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: GeneratedPage("Sources").file)
        let names = table.matches(of: #/`([A-Za-z+]+)`/#).map(\.output.1)
        #expect(names.count > 10)
        for name in names { #expect(paths.contains { $0.hasSuffix("/\(name).swift") }, "\(name)") }
    }

    @Test(arguments: ["docs/architecture.md", "docs/testing.md", "docs/guarantees.md", "CONTRIBUTING.md", "README.md"])
    func `no table has two rows about the same thing`(page: String) throws {
        var table: Set<Substring> = []
        for line in try Self.text(of: page).split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("| ") else {
                table = []
                continue
            }
            let subject = line.split(separator: "|", omittingEmptySubsequences: false)[1]
            #expect(table.insert(subject).inserted, "\(subject)")
        }
    }

    private static func resolve(_ link: Substring, in folder: String) -> String {
        var parts = folder.split(separator: "/")
        for part in link.split(separator: "/") {
            if part == ".." { parts.removeLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The anchors that GitHub makes of the headings: words in lower case, spaces as dashes, without other signs.
    private static func anchors(of page: String) throws -> Set<String> {
        let headings = try text(of: page).split(separator: "\n").filter { $0.hasPrefix("#") }
        var anchors: Set<String> = []
        for heading in headings {
            let words = heading.drop { $0 == "#" || $0 == " " }.lowercased().replacing(" ", with: "-")
            anchors.insert(words.filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        }
        return anchors
    }
}
