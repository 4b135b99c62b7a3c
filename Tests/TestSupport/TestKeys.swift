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

    /// A self-signed certificate, with an RSA key of 1024 bits, which is too small for OpenSSL.
    package static let smallRSA = """
        -----BEGIN CERTIFICATE-----
        MIICRDCCAa2gAwIBAgIUMfCv2sFXUnW00J/tKiUEnroz2rIwDQYJKoZIhvcNAQEL
        BQAwMzEhMB8GCgmSJomT8ixkAQEMEW9yZy5leGFtcGxlLnNtYWxsMQ4wDAYDVQQD
        DAVTbWFsbDAgFw0yNjExMjIxMTMzNDhaGA8yMTI2MTAyOTExMzM0OFowMzEhMB8G
        CgmSJomT8ixkAQEMEW9yZy5leGFtcGxlLnNtYWxsMQ4wDAYDVQQDDAVTbWFsbDCB
        nzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEAp58qFEHReuVyFQ5di4elhus6vB8d
        co1EAvipHviqUjbTcp3QXldwmLjfjDCcKZ6bZ2H1LLeiEMiJiPMh2T+fVmWSdIQv
        5F+eMtAGE1aUaSaUijP914Mu4swPnl8ADaK/2W/uFR1EnFcJ/8zg3moecGKA9ybo
        6RERPCfbCDB4RlsCAwEAAaNTMFEwHQYDVR0OBBYEFN2tBQkbVD3NLIfQ9pv2jiwz
        0mX+MB8GA1UdIwQYMBaAFN2tBQkbVD3NLIfQ9pv2jiwz0mX+MA8GA1UdEwEB/wQF
        MAMBAf8wDQYJKoZIhvcNAQELBQADgYEAFWjhUpEzaELCkyxCKC5Hv02np35U+4MJ
        RP7uDsLqamavgb2d6IgZfPS7LsTaqQ/m74MHWmu8oGga+h6BuyEAQEIc/7X70gX+
        Rjc9uL6nV26m0NeZWa3k0cKV3+XkEG0ABQO979aLUfLHvCGmW3HTs8a+cjf8rneu
        US8ZfqU25QM=
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAKefKhRB0XrlchUO
        XYuHpYbrOrwfHXKNRAL4qR74qlI203Kd0F5XcJi434wwnCmem2dh9Sy3ohDIiYjz
        Idk/n1ZlknSEL+RfnjLQBhNWlGkmlIoz/deDLuLMD55fAA2iv9lv7hUdRJxXCf/M
        4N5qHnBigPcm6OkRETwn2wgweEZbAgMBAAECgYBGLV8CqCO53kILCr6jYiEtAWLP
        y/8aLIai79RugRFd5lJUlDnepaEgb5Y4LUnUKvFJMTviguc5O5xJV/F98SMV7WYN
        adjWhGRBCXHSb4jVh4o0yD3+V+VX7HnGd4OsvxDH8qNrjWw8ncxot5rMkxCC+G3G
        8rOTFw0sKG8+zrjfMQJBANOTN0NWSgypLyciAnqD9Ob8I0bWxEoxsqOPmfzkwUxz
        khaAIo222kaqIjEPKaHLj5pG8jlJRVKXw766JWlOLn0CQQDK0VPVSjuTEQdWrzic
        qd5nMeEvJY7imE/+iTU0f+luTKk/FkxrsNH/3obR2Fj5sEp70xhZXO5hE9XYoQhq
        gCe3AkAkS84gPC5p66BOO1Rnhjm+YqT+oxt7ivkVfC4zp17N6cm3GHZVD3h0xP0m
        o25F9nEFS4SEdWById0P3ElMvn/VAkBXrqnMozwgN5NxoW0bJcE14fWVeWpNgkXL
        KCxtVwNnIRNmZ9CAGkCfmue0XxEQWWvKHpf/QlL4eyfPcMb/rAn/AkEAjzvGkDkL
        XQ1wbgoswE22zRNlnWzddpgcobCCe4LwS/eXzxYP3mXK6GpN2tenAfJ6xNelSGmC
        P3OtLzeC1rv+HA==
        -----END PRIVATE KEY-----
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
