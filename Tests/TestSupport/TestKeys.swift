/// Private keys that were made by the `openssl` command, for tests only.
package enum TestKeys {
    /// The passphrase of the encrypted one.
    package static let passphrase = "s3cret"

    /// On P-256.
    package static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiq3qowri1ivwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHhsdOs+Zv5m9/xi7exdCSAEgZA7
        vjid7OCMAX4uB3fGIiIsj5Rp6nyIV6s38RmoSlpBHxlcaVSvwDpOwKrNnFa7tshf
        8Q/uKraANgEPP7v6SCkPEeOfe2LDD7RdM+AGUIbDb3r+d1V3LSj1okjOFW6t8Tcz
        PzH9n4VtFw2L213VKIkP0XH9AwtW+67/7AtaPhYZMzioTPQNpQJuF7Z6Apx05vo=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    package static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCVPE4lXty2PYExyPnn
        VhFruM0LDfWhAaSf5g0HvXcPnwPahX62mVer2pC2TL48AmShZANiAAReWeccUMtn
        jYDisG31x8FTzUP3xuWxnqrJAFw9n4/dUuHehIeUGgPU+UTrpjtlVwvw+61JqZXv
        /8HMxjpv2p57Z5sGf4NHiA4UQi+XOXqW6wbP6j8dXO/yUXQSS+S0bmo=
        -----END PRIVATE KEY-----
        """
}
