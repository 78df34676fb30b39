"""Code with a contract: it runs in the sandbox, and the files that it promised come out.

Start with exec_tools.py; run_code.py is one run, workdir.py its folder and its contract.
"""
