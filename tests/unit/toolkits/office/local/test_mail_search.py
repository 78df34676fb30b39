"""The index finds what a plain reading of the query finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.office.local.mail.mail import LocalMail
from callblocks.toolkits.office.mail_query import MailTerm, Not, Query, all_of, any_of, read, write
from support.google.calling import drop_mail
from support.mail_matching import Facts, asks_for_hidden, finds
from support.mails import mail

_WORDS = ("red", "green", "blue")
_PEOPLE = ("ann@x.example", "bob@x.example", "me@localhost")
_LABELS = ("Inbox", "Inbox,Starred", "Trash", "Spam", "Opened,My Trips", "Inbox,Opened")


class Known:
    """A mailbox, and what is true of its messages by their subjects."""

    def __init__(self, folder: Path) -> None:
        self.box = LocalMail(folder)
        self.facts: dict[str, Facts] = {}
        for at in range(48):
            self._add(folder, at)

    def _add(self, folder: Path, at: int) -> None:
        subject = f"{_WORDS[at % 3]} m{at}"
        body = " ".join(_WORDS[(at + turn) % 3] for turn in range(at % 4))
        sender, to = _PEOPLE[at % 3], _PEOPLE[at // 3 % 3]
        labels = _LABELS[at % len(_LABELS)]
        files = {"green.pdf": b"x" * 3_000} if at % 5 == 0 else {}
        date = f"{at % 28 + 1:02} Jan 2026 12:00:00 +0000"
        raw = mail(
            subject, body=body, sender=sender, to=to, files=files, date=date, X_Gmail_Labels=labels
        )
        drop_mail(folder / "mail", raw)
        names = [
            one.upper() if one != "My Trips" else one
            for one in labels.split(",")
            if one != "Opened"
        ]
        self.facts[subject] = Facts(
            texts={
                "from": sender,
                "to": to,
                "subject": subject,
                "body": body,
                "filename": "green.pdf" if files else "",
            },
            labels=names if "Opened" in labels else [*names, "UNREAD"],
            date=(1767268800 + at % 28 * 86400) * 1000,
            size=len(raw),
            attachment=bool(files),
            owner="me@localhost",
        )

    def found(self, query: str) -> list[str]:
        page = self.box.messages(query=query, labels=(), spam_trash=False, limit=100, page="")
        headers = [item["payload"]["headers"] for item in page.items]
        return sorted(
            next(one["value"] for one in each if one["name"] == "Subject") for each in headers
        )


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    return Known(tmp_path_factory.mktemp("office"))


_TERMS = st.one_of(
    st.builds(MailTerm, st.sampled_from(_WORDS), st.sampled_from(("", "subject", "filename"))),
    st.builds(MailTerm, st.sampled_from(("red green", "m1", "x example", "ann red"))),
    st.builds(
        MailTerm, st.sampled_from(("ann", "bob@x.example", "me")), st.sampled_from(("from", "to"))
    ),
    st.builds(MailTerm, st.sampled_from(("unread", "read", "starred")), st.just("is")),
    st.builds(MailTerm, st.sampled_from(("inbox", "trash", "spam", "anywhere")), st.just("in")),
    st.builds(MailTerm, st.sampled_from(("my-trips", "My Trips", "none")), st.just("label")),
    st.builds(MailTerm, st.just("attachment"), st.just("has")),
    st.builds(
        MailTerm,
        st.sampled_from(("2026/01/05", "2026-01-20", "1/29/2026", "1768521600")),
        st.sampled_from(("before", "after", "older", "newer")),
    ),
    st.builds(MailTerm, st.sampled_from(("1K", "500")), st.sampled_from(("larger", "smaller"))),
)


def _larger(parts: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(several.map(all_of), several.map(any_of), parts.map(Not))


@given(tree=st.recursive(_TERMS, _larger, max_leaves=6))
def test_the_index_finds_what_a_plain_reading_finds(known: Known, tree: Query) -> None:
    hidden = asks_for_hidden(tree)
    expected = [
        subject
        for subject, facts in known.facts.items()
        if finds(tree, facts) and (hidden or not {"TRASH", "SPAM"} & set(facts.labels))
    ]
    assert known.found(write(tree)) == sorted(expected)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> LocalMail:
    folder = tmp_path_factory.mktemp("odd")
    texts = {
        "accent": "Café à la carte",
        "signs": "Party 🎉 at 50%",
        "kanji": "来週の会議は東京です",
        "link": "see https://docs.google.com/document/d/1 for it",
    }
    for name, text in texts.items():
        drop_mail(folder / "mail", mail(name, body=text, List_Id="<team.lists.example>"))
    drop_mail(
        folder / "mail",
        mail(
            "social",
            X_Gmail_Labels="Category Social,Opened,Work",
            Delivered_To="ada+x@example.org",
        ),
    )
    return LocalMail(folder)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cafe", "accent"),
        ("CAFÉ", "accent"),
        ("🎉", "signs"),
        ('"🎉 at"', "signs"),
        ("会議", "kanji"),
        ("議会", ""),
        ("subject:kanji 東京", "kanji"),
        ("has:document", "link"),
        ("has:drive", ""),
        ("list:team.lists.example", "accent,kanji,link,signs"),
        ("deliveredto:ada", "social"),
        ("category:social", "social"),
        ("category:primary", "accent,kanji,link,signs"),
        ("has:userlabels", "social"),
        ("has:nouserlabels", "accent,kanji,link,signs"),
        ("has:yellow-star", ""),
        ("in:archive", "social"),
        ("label:WORK", "social"),
        ("is:unstarred is:read", "social"),
        ('"\0cafe"', "accent"),
        ("larger:100M", ""),
        ("newer_than:99999y", "accent,kanji,link,signs,social"),
    ],
)
def test_odd_words_and_names_are_found(odd: LocalMail, query: str, found: str) -> None:
    items = odd.messages(query=query, labels=(), spam_trash=False, limit=9, page="").items
    names = [one["value"] for item in items for one in item["payload"]["headers"]]
    wanted = ("accent", "signs", "kanji", "link", "social")
    assert ",".join(sorted(name for name in names if name in wanted)) == found


@given(st.text(max_size=40))
def test_no_query_harms_the_index(odd: LocalMail, text: str) -> None:
    query = write(MailTerm(text.replace('"', "") + "x"))
    assert read(query)
    odd.messages(query=query, labels=(), spam_trash=False, limit=9, page="")
