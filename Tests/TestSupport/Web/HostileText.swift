/// Texts that break pages whose author forgot to escape them.
package enum HostileText {
    package static let all: [String] = [
        "<script>alert(1)</script>", "\"><script>alert(1)</script>", "'><img src=x onerror=alert(1)>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>", "<svg><script>alert(1)</script></svg>", "javascript:alert(1)", "JaVaScRiPt:alert(1)",
        " javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)",
        "\" onmouseover=\"alert(1)",
        "' onfocus='alert(1)' autofocus='", "` onclick=`alert(1)", "</title><script>alert(1)</script>",
        "</textarea><script>alert(1)</script>", "</style><script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        "<!--<script>alert(1)</script>-->", "--><script>alert(1)</script>", "<![CDATA[<script>alert(1)</script>]]>",
        "<iframe src=javascript:alert(1)>", "<object data=javascript:alert(1)>", "<embed src=javascript:alert(1)>",
        "<a href=javascript:alert(1)>x</a>", "<form action=javascript:alert(1)><button>x</button></form>",
        "<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">", "<base href=//evil.example/>",
        "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
        "<link rel=stylesheet href=//evil.example/x.css>",
        "<body onload=alert(1)>", "<details open ontoggle=alert(1)>", "<video><source onerror=alert(1)>",
        "&lt;script&gt;",
        "&#60;script&#62;", "&amp;&quot;&#39;", "&", "<", ">", "\"", "'", "\u{0}<script>alert(1)</script>",
        "<scr\u{0}ipt>alert(1)</script>",
        "\u{202E}txt.exe", "\u{2066}a\u{2069}", "\u{1B}[2Jcleared", "a\r\nSet-Cookie: x=1", "%3Cscript%3E", "%00",
        "../../etc/passwd",
        "//evil.example/", "\\\\evil.example\\", "{{7*7}}", "${7*7}", "'; DROP TABLE carillon.apps; --", "\u{FEFF}<b>",
        "＜script＞",
        "🔔<b>ü</b>", String(repeating: "<", count: 300),
    ]
}
