"""The `advise` room's rules for code of Python 2, which no Python 3 runs.

https://docs.python.org/3/whatsnew/3.0.html
"""

from compat.advise.message_rule import fault

OF_PYTHON_2 = (
    fault(
        "syntax",
        r"syntaxerror: (missing parentheses in call to (?:print|exec)|multiple exception types must"
        r" be parenthesized|leading zeros in decimal integer literals)",
        "The code is for Python 2: Python 3 cannot parse it.",
        package="python",
        needs="python<3",
    ),
    fault(
        "missing-module",
        r"no module named (urllib2|urlparse|cpickle|c?stringio|__builtin__|tkmessagebox"
        r"|tkfiledialog|httplib|cookielib|basehttpserver|simplehttpserver|xmlrpclib|htmlentitydefs"
        r"|copy_reg|anydbm|userdict|exceptions)(?![\w.])",
        "Python 3 has no $1: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    # Python 3 has these in lower case, and Python 2 says ImportError.
    fault(
        "missing-module",
        r"modulenotfounderror: no module named (configparser|queue|socketserver|htmlparser)"
        r"(?![\w.])",
        "Python 3 has $1 in lower case alone: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    # https://docs.python.org/3/whatsnew/3.0.html#views-and-iterators-instead-of-lists
    fault(
        "type-error",
        r"(?<![\w.])(o?dict_(?:keys|values|items)|map|filter|zip|range) object (?:is not"
        r" subscriptable|does not support (?:indexing|item (?:assignment|deletion))|has no"
        r" attribute (?:sort|append|extend|remove|pop|reverse|copy|tolist)(?!\w))",
        "Python 3 gives a $1 where Python 2 gave a list: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    fault(
        "type-error",
        r"object of type (map|filter|zip) has no len\(\)|unsupported operand type\(s\) for \+:"
        r" (?:o?(dict_(?:keys|values|items)) and|(range|map|filter|zip) and list)",
        "Python 3 gives a $1$2$3 where Python 2 gave a list: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    fault(
        "missing-attribute",
        r"nameerror: (?:global )?name (unicode|xrange|raw_input|basestring|unichr|execfile|long"
        r"|reduce|cmp|standarderror) is not defined",
        "Python 3 has no $1: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    fault(
        "missing-attribute",
        r"(?<!\w)dict object has no attribute (has_key|iteritems|itervalues|iterkeys)(?!\w)",
        "Dictionaries of Python 3 have no $1: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
    fault(
        "missing-attribute",
        r"(?:cannot import name (izip|imap|ifilter|izip_longest) from itertools"
        r"|module itertools has no attribute (izip|imap|ifilter|izip_longest)"
        r"|module string has no attribute (letters|lowercase|uppercase|maketrans|join)"
        r"|module os has no attribute (getcwdu)|module sys has no attribute (maxint)"
        r"|module urllib has no attribute (urlencode|quote|unquote|urlopen|urlretrieve|quote_plus)"
        r"|cannot import name (urlencode|quote|unquote|urlopen|urlretrieve) from urllib(?![\w.]))",
        "Python 3 has no $1$2$3$4$5$6$7 there: the code is for Python 2.",
        package="python",
        needs="python<3",
    ),
)
