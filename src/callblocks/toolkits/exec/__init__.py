"""Code with a contract: it runs in the sandbox, and the files that it promised come out."""
