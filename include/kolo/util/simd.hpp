// KOLO_CLONES in front of a function definition compiles it for several x86 vector widths; the loader picks
// one.
//
// Only for functions whose result does not depend on the width.  Off under sanitizers: their run-time is not
// up yet when the loader calls the resolvers.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define KOLO_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KOLO_CLONES
#endif
