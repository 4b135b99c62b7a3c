import TestSupport

/// Keys and certificates in every form that people have them in, made by the `openssl` command, for tests only: one
/// key on P-256 with its certificate, in all its wrappings, and keys of other kinds. The passphrase is "s3cret".
enum KeyFixtures {
    static let passphrase = TestKeys.passphrase

    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBvTCCAWOgAwIBAgIUW2jrWMKaVBlxEnS6b5AJzBpwPMIwCgYIKoZIzj0EAwIw
        MzEfMB0GCgmSJomT8ixkAQEMD29yZy5leGFtcGxlLmFwcDEQMA4GA1UEAwwHRml4
        dHVyZTAgFw0yNjExMjEwNDIzNTlaGA8yMTI2MTAyODA0MjM1OVowMzEfMB0GCgmS
        JomT8ixkAQEMD29yZy5leGFtcGxlLmFwcDEQMA4GA1UEAwwHRml4dHVyZTBZMBMG
        ByqGSM49AgEGCCqGSM49AwEHA0IABEBzlShK1QSdatz0w+EdMjOCYNSs2BKYHuVx
        0KXWYs8aXKkwdVBX0IIOw+B3cjng03FzE0si8TI5UdXQZXvY0zGjUzBRMB0GA1Ud
        DgQWBBTSdl7VHFTGHWYKU8OE/JX9o9p3QjAfBgNVHSMEGDAWgBTSdl7VHFTGHWYK
        U8OE/JX9o9p3QjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQD+
        vFBigXevMDRZVAZC0asQdEg64os7i9c/jpn7jH0PUwIgTlaqEVY5uHjscCCOqRZT
        hyIS89C7jusmOiNCk+a1eN0=
        -----END CERTIFICATE-----
        """

    static let root = """
        -----BEGIN CERTIFICATE-----
        MIIBhTCCASugAwIBAgIUc5vPEE5TkpM/t3xFXliQOr3ux88wCgYIKoZIzj0EAwIw
        FzEVMBMGA1UEAwwMRml4dHVyZSBSb290MCAXDTI2MTEyMTA0MjM1OVoYDzIxMjYx
        MDI4MDQyMzU5WjAXMRUwEwYDVQQDDAxGaXh0dXJlIFJvb3QwWTATBgcqhkjOPQIB
        BggqhkjOPQMBBwNCAAQbvyCtOzow/Hf30JjNrDMkhi9I1mpmb3rJzJEgaEl0+L2Y
        1OrazpdX3mbejzHPglvouFlAZvmL181RJokBhchto1MwUTAdBgNVHQ4EFgQUUbA5
        pLiz+Jlz5MIOVZk1UHIFI9EwHwYDVR0jBBgwFoAUUbA5pLiz+Jlz5MIOVZk1UHIF
        I9EwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEArb34ffawYET/
        UqbODQ3tkIYDRC6xQZRQ+2DyutNzbHkCIDn5D9aadPiCHrI2V8jEJYlngyzT0Xkd
        44e36XYCYEx+
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2PgFNqNGovTd8vr/
        9kEF83gvb28NucpZr9OgeQiXOcShRANCAARAc5UoStUEnWrc9MPhHTIzgmDUrNgS
        mB7lcdCl1mLPGlypMHVQV9CCDsPgd3I54NNxcxNLIvEyOVHV0GV72NMx
        -----END PRIVATE KEY-----
        """

    /// The form of older tools, after a block of parameters.
    static let traditionalKey = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEINj4BTajRqL03fL6//ZBBfN4L29vDbnKWa/ToHkIlznEoAoGCCqGSM49
        AwEHoUQDQgAEQHOVKErVBJ1q3PTD4R0yM4Jg1KzYEpge5XHQpdZizxpcqTB1UFfQ
        gg7D4HdyOeDTcXMTSyLxMjlR1dBle9jTMQ==
        -----END EC PRIVATE KEY-----
        """

    static let encryptedKey = TestKeys.encrypted

    static let traditionalEncryptedKey = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: DES-EDE3-CBC,3C02D4B09A99F8E3

        bEZJfV/Lzrb5HmWssafeqQ2MP6yCTg56M3MPWKGxRaZxPeVjKNwJ5s+fd0XnHkDJ
        EFtCOuS6t0hCVsKx+91VT1vIsr0qWDOBpQZXxC9X3SbbkOJegyv7U2D1+3mZLa4I
        YAiZG2CH8KwpU/UTUfetJVhTGZgK+nhwILQBk6tbW3E=
        -----END EC PRIVATE KEY-----
        """

    /// The same key, by 600,000 rounds of PBKDF2.
    static let manyRoundsKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHtMFgGCSqGSIb3DQEFDTBLMCoGCSqGSIb3DQEFDDAdBAiiuuFsPisX/AIDCSfA
        MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBCT0QyJdxr8VWYfBjyHIF/IBIGQ
        qOuq/mGuaoDIOHOjBbL26ADFl2/kQGPIdmwj/3mbxE7Ov8WfnSMthUc/cj1IpzxH
        fZD6enVv6l7c833xPRkuZ9rKivnwhvWGQ+GtQfOhNsV59pQ1nR3OBhGbVO98b70l
        /LLWUsxfV+ayX2R4ULtcz5r5J7xkLKS89XJZeLAO3sRf8dB11I4ufi3TS+XHi79Q
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// The same key, by scrypt.
    static let scryptKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAi7AUuL0cxsAQICQAAC
        AQgCAQEwHQYJYIZIAWUDBAEqBBCbRTZQuLdZX5oI48S8/dw/BIGQnANCkJxOHzib
        fkGyviLiKQSdMY+duxLnowlYBfNDOLgVNC5erE9i7109Prl7s3GgabSswiwTkhJ2
        LtLBQgiF8j2F1rZ866VCXeNYDuruk3UBnmfo3W9WEl9H3mBc1nbLSZHzfDlTjBUA
        7qGEYt+H0zlWVWGS6ZqJWDBVJCxGgRye6YLAbbZMerYWrBLOz2Qh
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// An encrypted key whose header asks for 8,388,607 rounds of PBKDF2.
    static let slowPBKDF2Key = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHtMFgGCSqGSIb3DQEFDTBLMCoGCSqGSIb3DQEFDDAdBAgB7iy0xZZE7QIDf///
        MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBCZ03My2moRJc75bhup/CrjBIGQ
        v4te8+s/cjuwcLvrxFRTXc6fk9PGMLbAUoBQbVbMx29rvBsb94hdXvnVQ2QQjihL
        Sjec+npxE6/C7t01pw9yx9yDQyoQsOhTnsI1uVMLRrGVQWyP00oD6pz6u2e4AWzo
        76DIfvI6Z+g64j1LG6u0zPw0LVluckl4jHwlCVEvtxyvJi5HvhaHTmONxtKIKx1J
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// An encrypted key whose header asks for 16 million blocks of scrypt.
    static let slowScryptKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAi7AUuL0cxsAQICQAAC
        AQgCAX8wHQYJYIZIAWUDBAEqBBCbRTZQuLdZX5oI48S8/dw/BIGQnANCkJxOHzib
        fkGyviLiKQSdMY+duxLnowlYBfNDOLgVNC5erE9i7109Prl7s3GgabSswiwTkhJ2
        LtLBQgiF8j2F1rZ866VCXeNYDuruk3UBnmfo3W9WEl9H3mBc1nbLSZHzfDlTjBUA
        7qGEYt+H0zlWVWGS6ZqJWDBVJCxGgRye6YLAbbZMerYWrBLOz2Qh
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// An encrypted key whose header asks for 8,388,607 rounds, in the form before PBKDF2 (PKCS#12).
    static let slowOldKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGyMB0GCiqGSIb3DQEMAQMwDwQI/mScpkXFlogCA3///wSBkDvX96XRgY5eeq+F
        cHdB85djnuDssVwMODsm8zwuefAmzSRSmDR9l87sJiyGI95l5szYFnEBbiPCdenK
        sXgMCThqkN8ZTJnEKrUx8JAx4IURl5o0twJtNuMujD6XlszdxlPOJyZkJfhf5JtO
        eh041ybrTutOC4yHZ3gmugV4KvcFwfXwT/g8gNql3eh9bgb1DQ==
        -----END ENCRYPTED PRIVATE KEY-----
        """

    static let p384Key = TestKeys.p384

    static let ed25519Key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIBwQhzhnLksueX0feLnyIDHK/VCK3a+XHNKWVcujOS2A
        -----END PRIVATE KEY-----
        """

    static let rsaKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDgKYvPhm91t9/c
        /wUNv62ZYDnx6wVcEPh90XUddhFoP04hBztaKPoZz5cEEPGNs6xOEtmuAPO1dUA5
        L/VFji1bG4hB6DJu8XwH44Oklwku3B/UXNF8o//skrA4x1MirMNiSuTdviEnP1IL
        Sywsf7HbMA7yoJpqpTmLyclbaPl4fYy+O3ynwOAO2WPm5ImvzTjj8WPdWQmp+aGc
        OejzQx1dcP+WeN/xz6g7ZmlqH86NRjhHCnRcEMHs9SZp1i8Wki9nltl8Lu3n0rdB
        njTkhBVOGdTA3gnu8au5lJg8R4BhaiUXfcDAp21gldg1GgP1FxRQsVrGFPgAJz+J
        dBQup79jAgMBAAECggEALkOk3WHroyoeA+iGTH4hACTCENHmu0etYZpXR4tUsGVQ
        ZLSvZT5L0APuMSKmGA7bIwn071q28d6PML5bKs3bQpB+IMwhjJA+fwpP4ypg9NDt
        qNC3U7gtW9AymqVY3TE26hR3A+T3xrfk4PvU1CJOvORAUYcgF56eL+GnszwJMPql
        q/xuvMx4jh0I7gRqzqK+ZFAA0BaJuB26i0/ppCi9n9FAHCIbPEK3UFK4bnh9stzA
        YS67l/Uq3wQChRNEftAcTj0qEyrV/G3nhw6TL/62nasiTYr5B5Vr32GSCp3IwV30
        F8Kx2p7kwIPin5NJygIYQ2PhP1squku5Zb/LV8ugwQKBgQDyUS1tTV1ztfR7+Peg
        DSxBKIRJ4VSbai1yBYGmCckBbMWZJLIWKREgQ3oNi43pOrwPaO00B0t99y8E01SO
        xnh0QB1aggYHXXWJAGj4bQ9h35NeYZ70CtJjyz5snbnTjsyMVWN0rhQQXMfqq9t+
        qiRU21J/R2FMlNf3sI194gODEQKBgQDs0e5msc5VGCxaTSNeFs7m3heR+g+tOWkw
        D6bLB7beCjQqHk53JOEjCFnQxl1G4cRapUacJkXMdGAp+IMI7+eN/So50D0+X5eW
        tfuLJvtyNCkeDFL8QQr21aq+tnElUzBc9LKC7z6fToOjgXxsIkIojFg4lwiShaWX
        Yu2batRzMwKBgAMd7jKouxoA7ismEbFaWgZgigsVPexd2kXMMlW7bH17M7N7mFrW
        nmTG2WwRLnsgiUi9dcekjGELa+xo9356qRP9uyLt5zvzBM8FVVRUuszsfk3Jfazv
        8rLb62qkQL6q6JCpjIT0tEddmii3mzQu5ha9V3tRpLvCcmC6Qaer35WxAoGBAILa
        bJQp4wx50ugCf2xZxfEi/nsWZNseQdTgkRTWKmD92lz7affDVPL6hkYplRi5XrmH
        YUCelSqnkwsd2alyhcua+13+hhiU0TnhTCBTZdRwpdeIj8H6XoiM/09pl5M8KBj0
        zD4027FCvNH3ljxZoZyuD4EVUxNC7YB8lTWvDbypAoGAUopQnt7Ys9nn5XmlN4iO
        Q2Wt845J6p9+tMihOjtfWwOF5uHFga1n+zFMTYR0W3BnNy0CTME8qiEnSyOhjz8u
        5JxYEDoElpsBP3MSKdI2mKmHL+aUig3CDrk3DWFUHmW6YWKkvReQvAGhZweuGzRI
        6eLYerNFb5Eu1RobMMBIlZk=
        -----END PRIVATE KEY-----
        """

    /// With a chain, encrypted by AES.
    static let modernP12 = """
        MIIF/AIBAzCCBbIGCSqGSIb3DQEHAaCCBaMEggWfMIIFmzCCBFIGCSqGSIb3DQEHBqCCBEMwggQ/AgEAMIIEOAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgvv4MEAkIQEQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIxF
        N8iClFt6pa0Q5WoYenSAggPQOUyZyS9mQRVIWT8ttwHZShq3F3Knkci8bOwPJO5Z2L8zFfjIfHb3QKaesYeu/1GEaL2bYGrJC4LS
        ISLVaxayYCajdQklTULEX2PvyFeQ6Dq01afi9cUwdnvpxlOS1ECBSXufJL6iQafM7vyN5hJ2hmqDpeYl51yEyMCYrP8MUrJjnB6z
        dzR9buPbt9oHcNO99Rj/U3pZN+NH96Gs07V3EtfZbLYQ50GSOf956f0ZW91ZFNzhieqmvidVdGXxv4nLB6G99Ysf51ZwIPzl5RVL
        Lhp6mp76du2x5G8MqJMyqdJoJrpu91TW5ib1Z11T88usGYA3Bsor/1CrAxuQJXj7dvyMb807H1Rf5J5zRziKToBom43TGNW71ptV
        WQZvw6Qh86sAPn76gOa4szbybHrgfGSv7G94kWNziIikw/tcRSWt6cXuFYIsOAeaO7G85ZGMD9QVB54pMnWMQdJwG2yldYtXqX6b
        H1u2opR0xaPnl7eKcbR6XbeirsK+wpLTkALvfOBaV9Xu9L1DuJ+65zfGk1O8SN9kmBdj8S0d7797iKSraAdBELpjulyIeqNvn5/C
        y7LGeqagcNJGygA2h6ijwg6zcvvElUxxSlUrbvgi3mu5/75+G50V0OzWcarQIp939Oa49M3y7LIr3k8QSN+lbpSpwOrUZwbmpI+k
        30iA0vyPzsbAmuPzx9z6JP/X2TGGEjKqA8G5Z7ZW/mbjSNDiDcpaX1ZMCeLOe7RdXax9Gz01sk81QftEm+sV9OUYzEXv9UE6peqP
        OMvz/MgMKlPi4y7lXu4gB4yDw1E8cjomocb6x5RCwE7WhvKIAbTmnD7SosgcG9BtFGapDIJJqDWz8M2D8BfZ37iasEbHIdiCvMrZ
        rx8iqxdPdf3Q8kksKScLMZ3/bIXMwLW/ehNEVI7pfQFAzcdamvSS/gEvQLWDsdNQG41I/Xm+YQPUwl/0fBF1GWD+ZBDyT4nHCOj8
        jaQdZc+lP6zMTO+9dVEDl7TQll0aMSG5lkZ+HntenzdwVQtUGCD9USnHCJ2piG1Ptnbcv2EEA9mLNY73AEAgaaYHFexDipvAin5g
        KqZXTipMgYgL3+H3PZ3bFlptuytRyEirK1Ic2TYm1nr5gApzJqPy4YgNCmDA+cTtL0xS5jTE9vWIpJtUyruDUCJCRj1hEjJXDv9o
        vPjjGwOOSkRMkYH4St41YqGtQ78RzbchruStv4i9Uze/G+pSX7naWt+PBjT/WYrmXud5bOixADYTy2Zu+jCRdCS2gHFUwPx483iN
        wGHQ2xTZ253Q4TGrnpTaz54zOzCCAUEGCSqGSIb3DQEHAaCCATIEggEuMIIBKjCCASYGCyqGSIb3DQEMCgECoIHvMIHsMFcGCSqG
        SIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgo0TYlGpPn1QICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFF7OYr/Or5g
        aD5GEU7mVj8EgZAhjoWqA94O4tgn6eBARUHdiVbAyA8vufeX2Z4+FM6gWCG8dm9RnUEZbMkVi8X5NFDuAjWS+uESOfbV8lh5sMkV
        sHec25gNgMQKR+H3F7W8voXwS9qNmutj1i34NBps+KlMIPhMcyDnSzAy4b5eyx3DdJ+e8a3KVSuluhLXWPHGDIdzZ64UBH4cDY15
        wvp6IAAxJTAjBgkqhkiG9w0BCRUxFgQUYnBDbREprx4pk0iBHZpStLhbq0gwQTAxMA0GCWCGSAFlAwQCAQUABCDOTL5kKu5x+Ahw
        nGM7ZF9EFlU6dOTUxll5ZxAZoZzg7gQItYkc8j+9R2gCAggA
        """

    /// As Keychain exports it: RC2 of 40 bits.
    static let legacyP12 = """
        MIIDwgIBAzCCA4gGCSqGSIb3DQEHAaCCA3kEggN1MIIDcTCCAmcGCSqGSIb3DQEHBqCCAlgwggJUAgEAMIICTQYJKoZIhvcNAQcB
        MBwGCiqGSIb3DQEMAQYwDgQI5mNp6AelxVYCAggAgIICIB4jxVeoGWq28hdjAkZZKNpgbmVixMwRUCO25Mkmbd2+rSOqryDx1FZm
        ieARk2eO4naYQrxBjszVn5krNotkKU8UFsJsgED7n8AJYkd8X+fkO6FZc2turvpxPo/s7iXn+YSzApfNweqEIeIxJNYP11sJZMCA
        33pSst3/tWYwyt/Za6UHkSSB0MmVDUNhGOG/kQmDj/lOXvIYFVAZz8ieOrokYjHfz+T3LvGCsI4OhlCbYQaJHb2gM8xKQTdnXvaq
        7wufF3VlYRJ7hxKBSwaz02EJqu5QkF3rshgmjnsUhtE427PRlpXg6Bp6hV1Xh3Hy0jq0N5O2aO/av5eqXyd2HaElrltOsA1Islgf
        8ecEzMC8FvuCT8bXNeUI1dztc/hNAXlBHnEcPf4l0QFE94PG7hFR28Al8UplIE3L5/mX4P7xPP5rN6/ALBi6ah2haf+ncDwzllne
        32apQJNvB0cqugR+p24bgov14udArDhfyxKr6JulQ1+udQ5JpX2rjjwhM/if81EWfFw5yuMFTLReg7vNIqbIpPXKJThpMOzDoGL3
        eyrqPbVlCoEOhFGjwdDSYGnGO4MTZlB0xiztAqJ5DP0tUsrtPmAvUj5YcsKozl5SIIr693IHKK+F7cn1KyUxTIXNEPMHkzPQOK7+
        4HhhjevupstpCEyr08aqHQ8NG8frZ5BxcPLIchKXqE3Uo8TkCVWa8yGkMGwCRUTkHSmnjg0wggECBgkqhkiG9w0BBwGggfQEgfEw
        ge4wgesGCyqGSIb3DQEMCgECoIG0MIGxMBwGCiqGSIb3DQEMAQMwDgQIc6NTb59lZqwCAggABIGQ6gT9SnR0yDi6PYxb01pwxecx
        svaVSNz5d73j6dHFZBCNeaSRM2VbXgcTfWsmueIId6TV1QBLeUfScTwAkEfw6Ovg/VlxpvXbGk/VgB9NHB012M/WdhpEWVFQLNle
        pDeJMaDcmXVDcKz7whtDEzyVeWMniHXnmu07PoyjHvJOMUqKWJkG/1HmtgAuVJ1qFur+MSUwIwYJKoZIhvcNAQkVMRYEFGJwQ20R
        Ka8eKZNIgR2aUrS4W6tIMDEwITAJBgUrDgMCGgUABBTMJMMAurXbkvK0PsUONFKcHb/ogAQIDPNNdHtE1QQCAggA
        """

    static let keylessP12 = """
        MIIC5wIBAzCCAp0GCSqGSIb3DQEHAaCCAo4EggKKMIIChjCCAoIGCSqGSIb3DQEHBqCCAnMwggJvAgEAMIICaAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgZLw0I0XAUfQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELPL
        u5p85HnWOj+f/tqZneqAggIABnDA/FLLt4srMxg0kyLwEsY963xH1CUB1xrxIqLmJgK417tgkIv2TEZdR+9j7NL63RICU0B0cJIJ
        I2Cn3d05opGzH7EaUmYUEMks3qao4SSS4Hsm7TE+B7w/0a955YxJDNJntC2h6KvmtqKoIM6eX1TvKaIONnsLPPjYi/ZTT3LZMvE4
        nACcvcC8ceragxWkqH+Kox2VZdj9FZuS4ZvE5bPfd6Zz3xkNsQG3wtqKkeNVSmYcLR8QuggYutTHozk0bJ1zhHRep+hkqnOc7Y6A
        pIy4NNVL/JgdVCystnkQI80EDVCYBIN9CkmmHpumn52evoT7IO5WRj6ZOoMrl8HMP4tN/aK8nkNgcuLo5upf7cln80WWLLVoe6mi
        b1GsXhSkOPPtpDwa3i+MDPyaf0cQsHmKvahwTT+MQf0pRPMKPNhkjvL1nsL39M4bGUpShFkBnJoYer8F4q0ny8ByswQmXgo1Ohvm
        ieEgPLQMW81sHm39f4ruSUGoQ3LrkUd4uS3S7qVHUiN7KHa20KS9mYtjz29GOqPQbzfKd8yqoVWcldqnouT2znqbilp44NvfUT9b
        /LBHL6GPtUpuH7WifFEQ6X54J0VTVBgof1xCXwL+Mgp9+BT50jpBWfaJghtk4sAMsXuuLFB0issjifSHtWg7VJ1BVKJ2fCeF4rLD
        Q0JTC5wwQTAxMA0GCWCGSAFlAwQCAQUABCCjVpV3f652dTnm1jQlqXdvjXvpOdZETq8zldEhWo0RXAQIwuyZffRUYSsCAggA
        """

    /// Encrypted by an empty passphrase.
    static let openP12 = """
        MIIETAIBAzCCBAIGCSqGSIb3DQEHAaCCA/MEggPvMIID6zCCAqIGCSqGSIb3DQEHBqCCApMwggKPAgEAMIICiAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiYbVYTyaPwTAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBh0
        ic/h7y7Qj553eWS8y/qAggIgVHamk5aJ/6TLmO5wbTn309mwgL+7OMzYYj6hD8mGkJybgJOcORe4Bz5i3bfoRZwoxj86ZFKOlc+C
        n2bDgnrw8vsQ0joF7rBftVdA6lQPagQkVFhgryhgIMfE0QZzLpKtcctsl7HsdPyEFuEsCLSD9YhW/M2ddr4U3kKh8/77IQBDAukB
        bzzhTYjtMoO3QawZzjR0jheczJZU3Ci8136Oomx3QkCGxj5542yJqiIx7AdeorOf662sDhG41S5jjWKQisxdaJMvgsoD8bLUfhKK
        cRBGDKsh36BBPCUNi/O/ZlOTFtFxDvABgp7vl4tsMZAaxUHaO5hx0DYd1w9zlMXuBghKQxOTQtCWcHLNyG4sq0hq4hQOTDW/u0FV
        hKylv/t6N9MlU8IhjNX69iIZ/dkqI2k0kMTTLtGvtpbYTwN7BOX0e7HPQ+lMm8xElKCe567eiHu7PKCqQQpyalBOR+Pfsv2efvGJ
        CVmV59bcwOqVFUioc5ZzH3hh+03z1FxSzKeGogavhDCK3sZhpsRxnuj40mgQk+PlL9hvSAI/h/CACtoWoRjWGtiTLW5fDsuh6nav
        fDTfn03ezoX7a0Z9SktYtYdN7hXs8T6oKVO2wIKBu0XP/VeU6ZE33oDr/AMuQC54w3HbABNEQdpsArxDSGOvzp/aVRRla/kIZS1d
        cWyoCwrSVVtyCkhTybUeE1DfWIYeeCChOiwP2Ct9M3y9dccXnTCCAUEGCSqGSIb3DQEHAaCCATIEggEuMIIBKjCCASYGCyqGSIb3
        DQEMCgECoIHvMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjxhRa73qh6ywICCAAwDAYIKoZIhvcNAgkFADAdBglg
        hkgBZQMEASoEEFN1VSzBLhvg5tsNoxlDAgIEgZDG8afTcig86j7B0nBk0iuIlu3p1XL/HEVU/XC69th92gYE0v7fRTvyd9axzF/X
        KghQCEyG4DfuQFupCnUdcnx4dELd+Ccf6THad3Rd+uXSGSPYuiHTnyOqdRtp+FnHt9B4dWKqoB1wz+0SvJtzp1whJDRR9nheVVfx
        BhjxsmvDr+YkcamHMrb9761Px7uqRzcxJTAjBgkqhkiG9w0BCRUxFgQUYnBDbREprx4pk0iBHZpStLhbq0gwQTAxMA0GCWCGSAFl
        AwQCAQUABCDDCFXrXsS9sDbfzE4XnTLOYVD+mWux2nmryPRupw0MjwQIBKwM6ip+4cgCAggA
        """

    /// Neither encrypted nor sealed.
    static let bareP12 = """
        MIIDKQIBAzCCAyIGCSqGSIb3DQEHAaCCAxMEggMPMIIDCzCCAiwGCSqGSIb3DQEHAaCCAh0EggIZMIICFTCCAhEGCyqGSIb3DQEM
        CgEDoIIB2TCCAdUGCiqGSIb3DQEJFgGgggHFBIIBwTCCAb0wggFjoAMCAQICFFto61jCmlQZcRJ0um+QCcwacDzCMAoGCCqGSM49
        BAMCMDMxHzAdBgoJkiaJk/IsZAEBDA9vcmcuZXhhbXBsZS5hcHAxEDAOBgNVBAMMB0ZpeHR1cmUwIBcNMjYxMTIxMDQyMzU5WhgP
        MjEyNjEwMjgwNDIzNTlaMDMxHzAdBgoJkiaJk/IsZAEBDA9vcmcuZXhhbXBsZS5hcHAxEDAOBgNVBAMMB0ZpeHR1cmUwWTATBgcq
        hkjOPQIBBggqhkjOPQMBBwNCAARAc5UoStUEnWrc9MPhHTIzgmDUrNgSmB7lcdCl1mLPGlypMHVQV9CCDsPgd3I54NNxcxNLIvEy
        OVHV0GV72NMxo1MwUTAdBgNVHQ4EFgQU0nZe1RxUxh1mClPDhPyV/aPad0IwHwYDVR0jBBgwFoAU0nZe1RxUxh1mClPDhPyV/aPa
        d0IwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA/rxQYoF3rzA0WVQGQtGrEHRIOuKLO4vXP46Z+4x9D1MCIE5W
        qhFWObh47HAgjqkWU4ciEvPQu47rJjojQpPmtXjdMSUwIwYJKoZIhvcNAQkVMRYEFGJwQ20RKa8eKZNIgR2aUrS4W6tIMIHYBgkq
        hkiG9w0BBwGggcoEgccwgcQwgcEGCyqGSIb3DQEMCgEBoIGKMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2PgF
        NqNGovTd8vr/9kEF83gvb28NucpZr9OgeQiXOcShRANCAARAc5UoStUEnWrc9MPhHTIzgmDUrNgSmB7lcdCl1mLPGlypMHVQV9CC
        DsPgd3I54NNxcxNLIvEyOVHV0GV72NMxMSUwIwYJKoZIhvcNAQkVMRYEFGJwQ20RKa8eKZNIgR2aUrS4W6tI
        """
}
