// Lists each `self.` that Swift does not need, or removes it with --fix. Swift needs it where the declaration introduces the
// same name, and for members that are found by @dynamicMemberLookup. Closures of classes and actors are left alone, because only
// the compiler knows where they need it.
// usage: needless-self [--fix] FILE…   All files of the tree, since it has to know which types are classes.
import Foundation
import SwiftParser
import SwiftSyntax

/// Names of members that mean something else without `self.`.
let reserved: Set<String> = [
    "Self", "Type", "any", "as", "async", "await", "borrow", "borrowing", "case", "catch", "class", "consume",
    "consuming", "copy", "default", "defer", "deinit", "discard", "do", "each", "else", "enum", "extension",
    "fallthrough", "false", "for", "func", "get", "guard", "if", "import", "in", "init", "inout", "internal", "is",
    "let", "nil", "open", "operator", "package", "precedencegroup", "private", "protocol", "public", "repeat",
    "return", "self", "set", "some", "static", "struct", "subscript", "super", "switch", "then", "throw", "throws",
    "true", "try", "typealias", "unsafe", "var", "where", "while", "yield",
]

/// The names that a declaration introduces: parameters, variables, local functions and patterns.
final class Names: SyntaxVisitor {
    var found: Set<String> = []

    override func visit(_ node: IdentifierPatternSyntax) -> SyntaxVisitorContinueKind {
        found.insert(node.identifier.text)
        return .visitChildren
    }
    override func visit(_ node: FunctionParameterSyntax) -> SyntaxVisitorContinueKind {
        found.insert((node.secondName ?? node.firstName).text)
        return .visitChildren
    }
    override func visit(_ node: ClosureShorthandParameterSyntax) -> SyntaxVisitorContinueKind {
        found.insert(node.name.text)
        return .visitChildren
    }
    override func visit(_ node: ClosureParameterSyntax) -> SyntaxVisitorContinueKind {
        found.insert((node.secondName ?? node.firstName).text)
        return .visitChildren
    }
    override func visit(_ node: ClosureCaptureSyntax) -> SyntaxVisitorContinueKind {
        found.insert(node.name.text)
        return .visitChildren
    }
    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        found.insert(node.name.text)
        return .visitChildren
    }
    override func visit(_ node: AccessorParametersSyntax) -> SyntaxVisitorContinueKind {
        found.insert(node.name.text)
        return .visitChildren
    }
    override func visit(_ node: AccessorDeclSyntax) -> SyntaxVisitorContinueKind {
        found.formUnion(["newValue", "oldValue"])
        return .visitChildren
    }
    override func visit(_ node: CatchClauseSyntax) -> SyntaxVisitorContinueKind {
        found.insert("error")
        return .visitChildren
    }
}

/// The needless ones of a file.
final class Finder: SyntaxVisitor {
    let classes: Set<String>
    var found: [MemberAccessExprSyntax] = []

    init(classes: Set<String>) {
        self.classes = classes
        super.init(viewMode: .sourceAccurate)
    }

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
        guard let base = node.base?.as(DeclReferenceExprSyntax.self), base.baseName.text == "self" else {
            return .visitChildren
        }
        let name = node.declName.baseName.text
        if name.hasPrefix("`") || name.first?.isNumber == true || reserved.contains(name) { return .skipChildren }
        var isInClosure = false
        var member: Syntax?
        var type: String?
        var ancestor = node.parent
        while let current = ancestor {
            if member == nil {
                if current.is(ClosureExprSyntax.self) { isInClosure = true }
                if current.is(MemberBlockItemSyntax.self) { member = current }
            } else if type == nil {
                if let it = current.as(ExtensionDeclSyntax.self) { type = it.extendedType.trimmedDescription }
                if current.is(ClassDeclSyntax.self) || current.is(ActorDeclSyntax.self) { type = "class" }
                if let it = current.as(StructDeclSyntax.self) { type = it.name.text }
                if let it = current.as(EnumDeclSyntax.self) { type = it.name.text }
                if let it = current.as(ProtocolDeclSyntax.self) { type = it.name.text }
            }
            ancestor = current.parent
        }
        guard let member, let type else { return .skipChildren }
        // The name of the declaration itself is a member of the type, and hides nothing.
        let names = Names(viewMode: .sourceAccurate)
        if let function = member.as(MemberBlockItemSyntax.self)?.decl.as(FunctionDeclSyntax.self) {
            names.walk(function.signature)
            if let body = function.body { names.walk(body) }
        } else if let variable = member.as(MemberBlockItemSyntax.self)?.decl.as(VariableDeclSyntax.self) {
            for binding in variable.bindings {
                if let accessors = binding.accessorBlock { names.walk(accessors) }
                if let value = binding.initializer { names.walk(value) }
            }
        } else {
            names.walk(member)
        }
        if names.found.contains(name) { return .skipChildren }
        if classes.contains("dynamic " + (type.split(separator: ".").last ?? "")) { return .skipChildren }
        let isClass = type == "class" || classes.contains(type)
        if isInClosure, isClass { return .skipChildren }
        found.append(node)
        return .skipChildren
    }
}

/// The names of classes and actors: of nested ones the whole name, and the last part of it. Types with dynamic members have
/// "dynamic" before their name.
final class Classes: SyntaxVisitor {
    var names: Set<String> = []

    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { add(node.name.text, Syntax(node)) }
    override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind { add(node.name.text, Syntax(node)) }
    override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
        if node.attributes.description.contains("@dynamicMemberLookup") { names.insert("dynamic " + node.name.text) }
        return .visitChildren
    }

    private func add(_ name: String, _ node: Syntax) -> SyntaxVisitorContinueKind {
        var path = [name]
        var ancestor = node.parent
        while let current = ancestor {
            if let it = current.as(ClassDeclSyntax.self) { path.insert(it.name.text, at: 0) }
            if let it = current.as(ActorDeclSyntax.self) { path.insert(it.name.text, at: 0) }
            if let it = current.as(StructDeclSyntax.self) { path.insert(it.name.text, at: 0) }
            if let it = current.as(EnumDeclSyntax.self) { path.insert(it.name.text, at: 0) }
            if let it = current.as(ExtensionDeclSyntax.self) { path.insert(it.extendedType.trimmedDescription, at: 0) }
            ancestor = current.parent
        }
        names.insert(path.joined(separator: "."))
        names.insert(name)
        return .visitChildren
    }
}

var arguments = CommandLine.arguments.dropFirst()
let fixes = arguments.first == "--fix"
if fixes { arguments = arguments.dropFirst() }

let trees = try arguments.map { path in
    (path: path, tree: Parser.parse(source: try String(contentsOfFile: path, encoding: .utf8)))
}
let classes = Classes(viewMode: .sourceAccurate)
for file in trees { classes.walk(file.tree) }
var count = 0
for file in trees {
    let finder = Finder(classes: classes.names)
    finder.walk(file.tree)
    guard !finder.found.isEmpty else { continue }
    count += finder.found.count
    if fixes {
        var bytes = Array(file.tree.description.utf8)
        for node in finder.found.reversed() {
            let start = node.base!.positionAfterSkippingLeadingTrivia.utf8Offset
            let end = node.declName.positionAfterSkippingLeadingTrivia.utf8Offset
            bytes.removeSubrange(start..<end)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: file.path))
    } else {
        let converter = SourceLocationConverter(fileName: file.path, tree: file.tree)
        for node in finder.found {
            let place = node.startLocation(converter: converter)
            print("\(file.path):\(place.line):\(place.column): \(node.trimmedDescription.prefix { !$0.isNewline })")
        }
    }
}
