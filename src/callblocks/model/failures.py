"""Codes of failed calls, with their meaning.

The code is for programs and is stable; the message beside it is for the model and the person. A
caller's own tool may use codes of its own.
"""

from __future__ import annotations

__all__ = ("FAILURES",)

FAILURES = {
    # The call itself.
    "unknown_tool": "no tool has that name",
    "not_runnable": "the tool is known, but nothing here can run it",
    "invalid_input": "the input does not fit the tool's schema; `details` has a line per field",
    "unended_call": "the text stopped before the call did, so it may be incomplete",
    # Policy and approval.
    "policy_off": "nothing runs: no policy was given",
    "policy_denied": "a rule of the policy forbids this call",
    "approval_required": "a person must approve this call, and nobody was there to ask",
    "approval_denied": "a person said no",
    "approval_expired": "the approval came too late, or was used too late",
    "approval_revoked": "the approval was taken back",
    "approval_mismatch": "the approval was given for other arguments, or under another policy",
    # Running.
    "tool_error": "the tool raised an exception",
    "tool_died": "the tool's process ended without an answer",
    "timeout": "the tool took longer than it may, and was stopped",
    "cancelled": "the call was stopped before it finished",
    "limit_reached": "the turn may make no more calls, or too many wait for a place",
    "indeterminate": "it is not known whether the effect happened: the program died meanwhile",
    "bad_envelope": "an external tool answered without `ok` and `error`",
    "bad_output": "the tool gave a value that cannot be written down",
    "not_kept": "a file or an output could not be kept",
    # Documents.
    "document_empty": "there is nothing to show",
    "document_too_large": "the document passes a limit: its text, pages, slides, cells or bytes",
    "document_invalid": "the text is nested too deep, or is not what `format` says",
    "no_table": "a workbook was asked for, and the text has no table",
    "render_timeout": "the document took too long, and was given up; nothing was written",
    "render_failed": "a library broke off while it made the document; nothing was written",
    "renderer_missing": "a library or package that lays out pages is not installed",
    # The sandbox.
    "sandbox_unavailable": "no sandbox works here, so commands and code do not run",
    "sandbox_failed": "the sandbox could not be set up for this call",
    # Code with a contract.
    "execution_failed": "the code ended with an error; the message is the last that it said",
    "out_of_memory": "the code needed more memory than it may use",
    "out_of_processes": "the code started more processes or threads than it may",
    "out_of_disk": "the code wrote more than it may",
    # Files.
    "unsafe_path": "the path leaves the workspace, or is no path",
    "protected_path": "a file that steers other programs, or callblocks itself, is not written",
    "path_not_found": "nothing is at that path",
    "path_changed": "something else took the place of the file after the call was judged",
    "path_exists": "something is at that path already, and it may not be overwritten",
    "wrong_file_type": "a folder where a file is needed, or the other way round, or a device",
    "file_too_large": "the file, or what would be written, passes the limit",
    "not_text": "the file is not UTF-8 text",
    "access_denied": "the operating system refused access to the path",
    "disk_full": "no room is left; nothing was written",
    "file_error": "the operating system refused it",
    # Files and paths of a turn.
    "file_not_found": "the tool said that it wrote the file, and no file is there",
    "empty_file": "the file that was written has no content",
    "file_invalid": "the file does not open as what its name says",
    "not_found": "nothing has that id, or nothing on the timeline is at that path",
    "hide_refused": "what the person said, or was answered, is never hidden",
    "hide_before_cache": "the block is part of what the model's provider has cached, and stays",
    "hide_too_old": "the block is too far back to be hidden",
    # The office: mail, files, events, documents, sheets and tasks.
    "conflict": "it was changed meanwhile, or something of that name is there already",
    "workspace_damaged": "a file of the office cannot be read; the message names it",
    "busy": "another program holds the file for too long; try again",
    "sign_in_needed": "no account is connected, or its access has ended",
    "forbidden": "the account may not do this",
    "quota_exceeded": "the service takes no more requests for a while",
    "service_unavailable": "the service failed, also when asked again",
    # The network.
    "invalid_url": "not an http or https address that can be asked",
    "address_refused": "the address is not a public one",
    "host_not_found": "the name of the host has no address",
    "too_many_redirects": "the server sent the client on and on",
    "response_too_large": "the response passes the limit",
    "network_error": "the connection failed or broke",
    # The web.
    "http_error": "the server has no such page, or answered with another error",
    "robots_denied": "the site asks programs not to read that page",
    "unsupported_type": "the page is neither HTML nor PDF nor text",
    "no_text": "the page has no text that can be read without a browser",
    "bad_setting": "a setting of this machine is wrong; a person must correct it",
}
