"""A small office to try the tools on: the ferry to Holm Island, in November 2026.

    mail/*.eml          messages; `X-Sample-Attach` names what is attached, from attachments/
    drive.json          files by id; what they hold is in drive/, documents/ and sheets/
    calendars.json      calendars with their events
    tasks.json          lists with their tasks

Every id is the same in each office that is laid, so that examples can name them.
"""
