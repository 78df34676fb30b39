"""Commands and code run apart from the machine, with limits that hold."""
