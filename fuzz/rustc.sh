#!/bin/sh
# The compiler of the crates of this workspace. Those that read texts and records also report what they compare, from which
# libFuzzer learns words that matter; elsewhere, among hashes and in decoders' loops, the reports take half of the time.
case " $* " in
*" lycosa_url "* | *" lycosa_parse "* | *" lycosa_frontier "* | *" lycosa_store "*)
    exec "$@" -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
*) exec "$@" ;;
esac
