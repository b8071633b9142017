"""The `advise` room's knowledge of sentences: what much-used packages say in words of their own
when they are asked as other releases of theirs were, or read what others wrote.
"""

from compat.advise.message_rule import MessageRule, fault
from compat.run.outcome import Cause

_OLD: Cause = "missing-attribute"
_MIXED: Cause = "binary-incompatible"
_GUARD: Cause = "version-guard"
_TYPE: Cause = "type-error"
_ERROR: Cause = "error"
# What is wrong, what would mend it or the package alone, and what it says, in lower case.
_WORDS: tuple[tuple[Cause, str, str], ...] = (
    # https://docs.pydantic.dev/latest/migration/, https://docs.pydantic.dev/latest/errors/
    (
        _ERROR,
        "pydantic",
        r"pydanticusererror: |a non-annotated attribute was detected: |was overridden by a"
        r" non-annotated attribute|field and config parameters are not available in pydantic v2"
        r"|(?:regex|const|min_items|max_items) is removed\. use |pydantic\S{0,40}\.configerror: "
        r"|unable to infer type for attribute|with pre=false \(the default\) you must specify"
        r" skip_on_failure",
    ),
    (_TYPE, "pydantic", r"-packages/pydantic/SAMEFILEtypeerror: issubclass\(\) arg 1 must be a"),
    # https://docs.sqlalchemy.org/en/20/changelog/migration_20.html
    (
        _ERROR,
        "sqlalchemy<2",
        r"not an executable object: |textual sql expression .{1,200}? should be explicitly declared"
        r" as text|columns argument to select\(\) must be a python list|invalid argument\(s\)"
        r" convert_unicode|cant load plugin: sqlalchemy\.dialects:postgres(?!\w)"
        r"|column expression, from clause, or other columns clause"
        r" element expected, got \[",
    ),
    # https://numpy.org/doc/stable/release/
    (
        _TYPE,
        "numpy",
        r"numpy boolean subtract, the - operator, is (?:not supported|deprecated)|cannot be safely"
        r" interpreted as an integer|the truth value of an empty array is ambiguous"
        r"|arrays to stack must be passed as a sequence type|python"
        r" integer -?\d{1,20} out of bounds for u?int\d|cannot interpret <attribute dtype of"
        r" numpy\.generic objects> as a data type|-packages/(?!numpy)\w{1,60}/SAMEFILEvalueerror:"
        r" setting an array element with a sequence\. the requested array has an inhomogeneous",
    ),
    (
        _MIXED,
        "numpy",
        r"cannot convert a symbolic (?:tf\.)?tensor \([^)]{1,200}\) to a numpy array|unable to"
        r" convert function return value to a python type! the signature was|initialization of"
        r" _(?:internal|umath\w{0,20}|multiarray\w{0,20}) (?:failed|raised)",
    ),
    # https://github.com/pytorch/pytorch/releases
    (
        _ERROR,
        "torch",
        r"weights only load failed|the default value of the weights_only argument in torch\.load"
        r"|legacy autograd function with non-static forward|invalid index of a 0-dim tensor"
        r"|subtraction, the - operator, with (?:a|two) bool tensors? is not supported|integer"
        r" division of tensors using div or / is no longer supported|lengths argument should be a"
        r" 1d cpu int64 tensor|stft requires the return_complex parameter|istft requires a complex"
        r"|was deprecated since version [\d.]{1,8} and is now removed|your pytorch installation may"
        r" be too old|is a zip archive \(did you mean to use torch\.jit\.load|unknown builtin op:"
        r"|result type float cant be cast to the desired output type (?:__int64|long)"
        r"|unknown type name (?:__torch__|torch\.)|version_ <="
        r" kmaxsupported",
    ),
    (
        _MIXED,
        "torch",
        r"detected cuda version \([\d.]{1,8}\) mismatches the version that was used to compile"
        r" pytorch|with cuda capability sm_\d{1,3} is not compatible with the current pytorch",
    ),
    # https://github.com/huggingface/transformers/releases
    (
        _ERROR,
        "transformers",
        r"but transformers does not recognize this architecture|tokenizer class \w{1,60} does not"
        r" exist or is not currently imported|rope_scaling must be a dictionary with"
        r"|configuration_auto\.py, line SAMEFILEkeyerror: |couldnt instantiate the backend"
        r" tokenizer from one of",
    ),
    # https://scikit-learn.org/stable/model_persistence.html, https://xgboost.readthedocs.io
    (_ERROR, "scikit-learn", r"node array from the pickle has an incompatible dtype"),
    (_ERROR, "xgboost", r"loading a serialized model \(like pickle in python"),
    (_ERROR, "pandas", r"optionerror: pattern matched multiple keys"),
    (_TYPE, "shapely", r"arguments is of incorrect type\. please provide only geometry objects"),
    (_ERROR, "fsspec", r"invalid pattern: \*\* can only be an entire path component"),
    # https://onnxruntime.ai/docs/reference/compatibility.html
    (
        _ERROR,
        "onnxruntime",
        r"unsupported model ir version: \d{1,3}, max|opset \d{1,3} is under development and support"
        r" for this is limited",
    ),
    (_TYPE, "torch", r"unsupported onnx opset version"),
    (
        _TYPE,
        "transformers<4",
        r"dropout\(\): argument input \(position 1\) must be tensor, not str",
    ),
    (_ERROR, "tokenizers", r"data did not match any variant of untagged enum"),
    (
        _TYPE,
        "openai<1",
        r"(?:chatcompletion\w{0,20}|choice|completion\w{0,10}) object is not"
        r" subscriptable",
    ),
    # https://spacy.io/usage/v3#migrating
    (
        _ERROR,
        "spacy",
        r"\[e966\]|\[e941\]|\[e053\] could not read|\[w031\]|\[w095\]|\[e958\]|nlp\.add_pipe now"
        r" takes the string name|obsolete as of spacy v3",
    ),
    (
        _TYPE,
        "gensim<4",
        r"was removed from keyedvectors? in gensim 4|(?:word2vec|doc2vec|fasttext)"
        r" object is not subscriptable",
    ),
    # https://pymongo.readthedocs.io/en/stable/migrate-to-pymongo4.html
    (
        _OLD,
        "pymongo<4",
        r"if you meant to call the (?:insert|update|remove|save|count|ensure_index|find_and_modify"
        r"|group|map_reduce|database_names|collection_names|authenticate) method on a"
        r"|(?:database|collection) objects do not implement truth value testing|unknown option"
        r" ssl_cert_reqs",
    ),
    (_ERROR, "redis<3", r"dataerror: invalid input of type: "),
    (_GUARD, "elasticsearch<7.14", r"we do not support this unknown product"),
    # https://github.com/openai/gym/releases
    (
        _ERROR,
        "gym",
        r"gym\.error\.(?:deprecatedenv|versionnotfound)|\.step\((?:(?!\.py\b).){0,160}?valueerror:"
        r" (?:too many values to unpack \(expected 4\)|not enough values to unpack \(expected 5)",
    ),
    (
        _OLD,
        "opencv-python",
        r"gapi_wip_gst_gstreamerpipeline",
    ),
    (
        _ERROR,
        "opencv-python",
        r"findcontours\((?:(?!\.py\b).){0,200}?"
        r"valueerror: (?:too many|not enough) values to unpack",
    ),
    (_OLD, "lxml", r"lxml\.html\.clean module is now a separate project"),
    (_OLD, "biopython<1.78", r"bio\.alphabet has been removed"),
    (_OLD, "dash<3", r"obsoleteattributeexception: "),
    (_OLD, "bokeh<3", r"unexpected attribute (?:plot_width|plot_height|legend|webgl) to "),
    (
        _OLD,
        "scipy",
        r"scipy\.misc is deprecated and has no attribute|scipy\.\w{1,30} is deprecated"
        r" and has no",
    ),
    (_ERROR, "albumentations", r"validation errors? for (?:initschema|\w{1,30}initschema)"),
    (
        _ERROR,
        "pyjwt<2",
        r"you pass in a value for the algorithms argument when calling decode"
        r"|jwt\.encode\((?:(?!\.py\b).){0,200}?str object has no attribute decode",
    ),
    (_GUARD, "urllib3<2", r"urllib3 v2(?:\.0)? only supports openssl"),
    (_ERROR, "requests<2.32", r"not supported url scheme http\+docker"),
    (_TYPE, "aiogram<3", r"to bot initializer is not supported anymore"),
    (_TYPE, "click<8.2", r"secondary flag is not valid for non-boolean flag"),
    # https://docs.pytest.org/en/stable/changelog.html
    (
        _ERROR,
        "pytest",
        r"pluginvalidationerror: |str object has no attribute iter_parents"
        r"|\[pytest\] section in setup\.cfg files"
        r" is no longer supported|pytestremovedin\d{1,2}warning: |yield tests were removed in"
        r" pytest|the \(path: py\.path\.local\) argument is",
    ),
    # https://setuptools.pypa.io/en/stable/history.html#v66-0-0, https://packaging.pypa.io
    (
        "build-tool",
        "setuptools",
        r"pkg_resources\S{0,100}invalidrequirement: |invalidversion: invalid"
        r" version: |error in \S{1,80} setup command: \S{0,4}(?:install_requires|tests_require"
        r"|extras_require|python_requires)\b.{0,140}?(?:expected|invalid|parse error)",
    ),
    ("build", "scikit-learn", r"the sklearn pypi package is deprecated, use scikit-learn"),
    # https://github.com/yaml/pyyaml/issues/601, https://github.com/cython/cython/issues/5568
    ("build", "pyyaml", r"attributeerror: cython_sources"),
    # https://python-poetry.org/blog/announcing-poetry-1.2.0/
    (
        _GUARD,
        "poetry",
        r"(?:lock file|poetry\.lock) is not compatible with the current version of poetry"
        r"|additional properties are not allowed \(group was unexpected\)",
    ),
    (_TYPE, "protobuf", r"couldnt build proto file into descriptor pool"),
    (_OLD, "h5py<3", r"h5py/_hl/SAMEFILEattributeerror: str object has no attribute decode"),
    (_OLD, "markupsafe", r"soft_unicode has been renamed to soft_str"),
    (_TYPE, "snowflake-connector-python", r"you have an incompatible version of pyarrow installed"),
    # https://docs.python.org/3/whatsnew/
    (
        _TYPE,
        "python<3.11",
        r"passing coroutines is forbidden, use tasks explicitly|population must be a sequence\. for"
        r" dicts or sets",
    ),
    (_ERROR, "python<3.14", r"there is no current event loop in thread mainthread"),
    (
        _TYPE,
        "python>=3.10",
        r"(?<!\w)staticmethod object is not callable|makes use of newer typing"
        r" features than are supported|unable to evaluate type annotation",
    ),
    (_TYPE, "python<3.10", r"has unexpected type float"),
    (
        _TYPE,
        "python<3.8",
        r"an integer is required \(got type bytes\)|required field type_ignores"
        r" missing from module",
    ),
    (_ERROR, "python>=3.8", r"unsupported pickle protocol: 5"),
    (
        _TYPE,
        "python",
        r"bad magic number in |systemerror: unknown opcode",
    ),
    (
        _OLD,
        "python>=3.6",
        r"nameerror: name (?:modulenotfounderror|filenotfounderror|breakpoint"
        r"|anext|aiter) is not defined",
    ),
)


def _of_words(cause: Cause, needs: str, words: str) -> MessageRule:
    package = needs.partition("<")[0].partition(">")[0]
    if ">" in needs:
        sentence = f"It asks for {needs}: what is installed is older than what it is for."
    elif "<" in needs:
        sentence = f"It is for {needs}: what is installed no longer takes it."
    else:
        sentence = f"The installed {package} is of another release than what it is given is for."
    return fault(cause, words, sentence, package=package, needs=needs if needs != package else "")


OF_CHANGED_WORDS = tuple(_of_words(*row) for row in _WORDS)
