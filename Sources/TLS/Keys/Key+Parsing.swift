import CarillonCOpenSSL

extension Key {
    /// The passphrase callback's argument, and whether it was called.
    private struct Asked {
        var passphrase: UnsafeRawBufferPointer?
        var wasAsked = false
    }

    /// The private key in a text, which may be encrypted; `what` names the text in errors.
    static func inText(_ text: [UInt8], passphrase: [UInt8]?, what: String) throws(TLSError) -> Key {
        guard let block = try PEM(text, what: what).blocks.first(where: \.isPrivateKey) else {
            throw TLSError(.malformedKey, "\(what) is not a private key in PEM form: \(PEMFault(withoutBlock: text))")
        }
        if block.isEncryptedKey { try Self.checkDerivation(of: text[block.range], what: what) }
        ERR_clear_error()
        let (pointer, wasAsked) = MemoryBIO.reading(text[block.range]) { bio in
            Self.read(from: bio, passphrase: passphrase)
        }
        guard let pointer else {
            let errors = OpenSSLErrors.take()
            if errors.isShortage { throw .shortage(reading: "the private key in \(what)") }
            guard wasAsked else {
                let fault = PEMFault(in: text[block.range])
                throw TLSError(.malformedKey, "the private key in \(what) cannot be read: \(fault)")
            }
            throw Self.refusal(errors, hasPassphrase: passphrase != nil, what: what)
        }
        return Key(owning: pointer)
    }

    /// Throws if decrypting the key would take too long, whatever the passphrase.
    private static func checkDerivation(of text: ArraySlice<UInt8>, what: String) throws(TLSError) {
        let bytes = MemoryBIO.reading(text) { Self.contents(of: $0) }
        guard let derivation = bytes.flatMap({ KeyDerivation(ofKey: $0) }) else {
            throw TLSError(
                .malformedKey,
                "the encrypted private key in \(what) cannot be read: it may have been cut or altered"
            )
        }
        guard derivation.isAffordable else {
            throw TLSError(
                .tooCostly,
                "the private key in \(what) takes \(derivation.count) \(derivation.unit) to open, and at most "
                    + "\(derivation.limit) are allowed: encrypt it again, for example with openssl pkcs8 -topk8 -iter 600000"
            )
        }
    }

    /// The decoded content of a block. Nil if a header says that the content itself is encrypted, because that hides the parameters
    /// to check.
    private static func contents(of bio: OpaquePointer) -> [UInt8]? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        ERR_clear_error()
        guard PEM_read_bio(bio, &name, &header, &data, &count) == 1 else { return nil }
        defer {
            COpenSSL_OPENSSL_free(name)
            COpenSSL_OPENSSL_free(header)
            COpenSSL_OPENSSL_free(data)
        }
        return header?.pointee == 0 ? Array(UnsafeBufferPointer(start: data, count: count)) : nil
    }

    private static func read(from bio: OpaquePointer, passphrase: [UInt8]?) -> (OpaquePointer?, wasAsked: Bool) {
        (passphrase ?? []).withUnsafeBytes { raw in
            var asked = Asked(passphrase: passphrase == nil ? nil : raw)
            let pointer = PEM_read_bio_PrivateKey(
                bio,
                nil,
                { buffer, size, _, user in
                    guard let buffer, let asked = user?.assumingMemoryBound(to: Asked.self) else { return -1 }
                    asked.pointee.wasAsked = true
                    guard let passphrase = asked.pointee.passphrase, passphrase.count <= Int(size) else { return -1 }
                    UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyMemory(from: passphrase)
                    return CInt(passphrase.count)
                },
                &asked
            )
            return (pointer, asked.wasAsked)
        }
    }

    /// OpenSSL asks for a passphrase only after it has read the block and its structure, so a later failure usually means a wrong
    /// passphrase: decryption yields garbage, which fails in many ways. Only an impossible length proves damage.
    private static func refusal(_ errors: OpenSSLErrors, hasPassphrase: Bool, what: String) -> TLSError {
        guard hasPassphrase else {
            return TLSError(
                .passphraseNeeded,
                "the private key in \(what) is encrypted: give its passphrase, or store it decrypted"
            )
        }
        if errors.contains(library: ERR_LIB_EVP, reason: EVP_R_WRONG_FINAL_BLOCK_LENGTH) {
            return TLSError(.malformedKey, "the encrypted private key in \(what) is damaged: it may have been cut")
        }
        return TLSError(.wrongPassphrase, "the passphrase does not open the private key in \(what)")
    }
}

/// What is probably wrong with a text that should be a private key in PEM form, for the end of a sentence.
private enum PEMFault: String, CustomStringConvertible {
    case isPath = "it looks like the path of a file; give what the file contains"
    case isCut = "the line -----END PRIVATE KEY----- is missing; it may have been cut"
    case isSomethingElse = "it must contain a line -----BEGIN PRIVATE KEY-----"
    case hasEscapedBreaks = #"it contains \n in place of line breaks; write them as line breaks"#
    case hasNoBreaks = "its BEGIN and END lines must stand alone, without leading spaces"
    case isAltered = "it may have been cut or altered"

    /// What a text without a key may be.
    init(withoutBlock text: [UInt8]) {
        let words = String(decoding: text.prefix(4096), as: UTF8.self)
        if words.contains("-----BEGIN"), words.contains("PRIVATE KEY") {
            self = words.contains("-----END") ? .isAltered : .isCut
        } else if !words.contains("\n"), [".p8", ".pem", ".key", ".p12"].contains(where: words.hasSuffix) {
            self = .isPath
        } else {
            self = .isSomethingElse
        }
    }

    /// Why OpenSSL cannot read a key between its first and last line.
    init(in block: ArraySlice<UInt8>) {
        let words = String(decoding: block.prefix(4096), as: UTF8.self)
        let lines = words.split(whereSeparator: \.isNewline)
        if words.contains(#"\n"#) {
            self = .hasEscapedBreaks
        } else if lines.count < 3 || lines.contains(where: { $0.first == " " || $0.first == "\t" }) {
            self = .hasNoBreaks
        } else {
            self = .isAltered
        }
    }

    var description: String { rawValue }
}
