"""The `advise` room's rules for what the dynamic linker and compiled modules say."""

from compat.advise.message_rule import fault, information

# A mangled name begins with the C++ namespaces in which it lies: "N" for nested, then each with its
# length (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling). What asks may lie anywhere.
OF_SYMBOLS = (
    fault(
        "binary-incompatible",
        r"undefined symbol: _zn[kv]{0,2}(?:2at|3c10|5torch|6caffe2)",
        "A compiled module is for another PyTorch than the installed one.",
        package="torch",
    ),
    # https://cython.readthedocs.io: modules that were compiled against others' types.
    fault(
        "binary-incompatible",
        r"(?:c (?:function|variable) )?([a-z_]\w{0,80})(?:\.\w{1,80}){1,6} (?:does not export"
        r" expected c (?:function|variable)|has wrong signature)",
        "A compiled module is for another $1 than the installed one.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"valueerror: (?!numpy)([a-z_]\w{0,80})(?:\.\w{1,80}){1,6} (?:size changed, may indicate"
        r" binary incompatib|has the wrong size)",
        "A compiled module is for another $1 than the installed one.",
        package="$1",
    ),
    # https://docs.aws.amazon.com/lambda: what is installed lies in /var/task.
    fault(
        "binary-incompatible",
        r"version (glibcxx|cxxabi|glibc)_([\d.]{1,20}\d) not found \(required by (?:/var/task"
        r"/(?:python/)?(?=\w{1,80}[/.]\S{0,300}(?:\.abi3|cpython|pywrap))|\S{0,400}?/(?=\w{1,80}\."
        r"(?:abi3|cpython-)))(\w{1,80})",
        "A compiled module of $3 needs $1 $2, which this machine does not have.",
        package="$3",
    ),
)
OF_BINARIES = (
    # https://pytorch.org/tutorials/advanced/cpp_extension.html
    information(
        "binary-incompatible",
        r"(?:-packages/|error: (?=\w{1,80}/))(\w{1,80})[^: ]{0,200}: undefined symbol:"
        r" thpvariableclass",
        "An extension of torch is imported before torch itself.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"(?:(?:site|dist)-packages/|error: (?=\w{1,80}/))(\w{1,80})[^: ]{0,200}: undefined"
        r" symbol: ",
        "A compiled module of $1 is for another version of what it was linked with.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"version ([a-z]\w{1,30}?)_([\d._]{1,20}\d) not found \(required by"
        r" \S{0,400}?-packages/(\w{1,80})",
        "A compiled module of $3 needs $1 $2, which this machine does not have.",
        package="$3",
    ),
    fault(
        "binary-incompatible",
        r"-packages/(\w{1,80})/SAMEFILEimporterror: \S{1,300}: version (glibcxx|cxxabi|glibc)"
        r"_([\d.]{1,20}\d) not found(?! \(required by)",
        "A compiled module of $1 needs $2 $3, which this machine does not have.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"-packages/(\w{1,80})/[^()]{0,300}(?:\([^()]{0,20}\): tried: [^()]{0,300})?"
        r"(?:\(mach-o file, but is an incompatible architecture|: mach-o, but wrong architecture)",
        "A compiled module of $1 is for another processor than this Python.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"-packages/(\w{1,80})/[^ ]{0,300}, \w{1,10}\): symbol not found"
        r"|symbol not found:? .{0,300}?referenced from: \S{0,300}?-packages/(\w{1,80})",
        "A compiled module of $1$2 is for another version of what it was linked with.",
        package="$1$2",
    ),
    fault(
        "binary-incompatible",
        r"-packages/(\w{1,80})/SAMEFILEdll load failed[^:]{0,80}: (?:the specified procedure could"
        r" not be found|%1 is not a valid win32 application)",
        "A compiled module of $1 is for another version of what it was linked with.",
        package="$1",
    ),
    # A library that Python packages bring: the system's own and a GPU's are not of versions here.
    fault(
        "binary-incompatible",
        r"-packages/(\w{1,80})/SAMEFILE(?:importerror|oserror|notfounderror): (?!lib(?:cu|nv|gl|x"
        r"|gomp|stdc|gcc|ssl|crypto|python|ffi|z\b|m\b|c\b|mpi|sndfile|nccl"
        r"|tinfo))(lib[\w+-]{1,80}\.so[\w.]{0,20}): cannot open shared object file",
        "A compiled module of $1 looks for $2, which the installed packages do not bring.",
        package="$1",
    ),
    fault(
        "illegal-instruction",
        r"illegal (?:hardware )?instruction",
        "A compiled module of it uses instructions that this processor does not have.",
        package="",
    ),
)
