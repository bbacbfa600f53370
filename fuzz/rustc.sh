#!/bin/sh
# The compiler of all crates. Those that read texts and records also report what they compare, from which libFuzzer learns
# words that matter; elsewhere, among hashes and in decoders' loops, the reports take half of the time. Two have not even
# counters: chardetng only adds up scores, byte by byte, and brotli is an encoder, which makes inputs.
case " $* " in
*" --crate-name lycosa_url "* | *" --crate-name lycosa_parse "* | *" --crate-name lycosa_frontier "* | \
    *" --crate-name lycosa_store "* | *" --crate-name lycosa_records "*)
    exec "$@" -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
*" --crate-name chardetng "* | *" --crate-name brotli "*)
    for argument; do
        shift
        case $argument in
        -Cpasses=sancov-module | -Cllvm-args=-sanitizer-coverage-*) ;;
        *) set -- "$@" "$argument" ;;
        esac
    done
    exec "$@"
    ;;
*) exec "$@" ;;
esac
