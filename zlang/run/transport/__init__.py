"""Transport of commands to the machines of a plan: this one, and others over ssh. Only this package uses asyncssh."""
