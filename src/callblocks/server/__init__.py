"""Sessions over HTTP: chats, timelines, artifacts and approvals for programs and pages.

app.py is the application and the table of all addresses; service.py is what handlers share;
chats/ runs turns and streams them; access.py checks who asks; http/ limits and measures every
request; processor work runs in processes beside the server (cpu_program.py). Start with app.py.
May import: everything but cli.
"""
