"""Run commands on the machines of a plan: this one, and others over ssh. Only this package uses asyncssh."""
