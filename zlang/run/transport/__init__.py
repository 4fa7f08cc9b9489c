"""Where the commands of a plan are run: on this machine, and on others over ssh. The only door to asyncssh."""
