"""The command line: limn-opt, and reading modules from text."""
