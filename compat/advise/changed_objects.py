"""The `advise` room's knowledge of whose an object is: classes of much-used packages, with what
releases of them took from their objects or gave to them, as their changelogs tell.

Python names the class and not the module, so only names are here that say whose they are together.
"""

from compat.advise.message_rule import MessageRule, fault

_ESTIMATORS = (
    r"\w{0,20}(?:classifier|regressor|vectorizer|encoder|scaler|transformer|imputer)|svc|svr|pca"
    r"|nmf|kmeans|polynomialfeatures|columntransformer|pipeline|featureunion|dbscan|lasso|ridge"
    r"|logisticregression|linearregression|gridsearchcv|tsne|kbinsdiscretizer"
)
_SPARSE = r"(?:\w{1,40}\.){0,5}(?:csr|csc|coo|lil|dok|bsr|dia)_(?:matrix|array)"
_GRADIO = (
    "button|textbox|row|column|chatbot|slider|dropdown|gallery|image|file|audio|video|checkbox"
    "|radio|number|html|dataframe|markdown|group|checkboxgroup|code|state"
)
_TOKENIZERS = (
    r"(?:bert|gpt2|gptneox|llama|t5|chatglm4?|qwen2?|xlm\w{0,12}|roberta|clip|whisper|bart|mbart"
    r"|albert|electra|deberta\w{0,4}|gemma|mistral|bloom|baichuan|internlm2?|marian|m2m100|nllb"
    r"|pegasus|wav2vec2\w{0,12}|layoutlm\w{0,6}|pretrained)tokenizer(?:base|fast)?"
)
_OF_TRANSFORMERS = (
    r"\w{1,40}(?:forcausallm|forconditionalgeneration|lmheadmodel|formaskedlm|formultimodallm"
    r"|forsequenceclassification|fortokenclassification|forquestionanswering|forpretraining)"
)
_TORCH = (
    r"upsample|gelu|silu|hardswish|conv[123]d|batchnorm[123]d|multiheadattention|lstm|gru|rnn"
    r"|transformer(?:en|de)coder(?:layer)?|avgpool2d|leakyrelu|relu6?|groupnorm|layernorm|adamw?"
    r"|sgd|radam|rmsprop|nadam|adagrad|gradscaler"
)
# What would mend it, or the package alone; classes; names of which they lack one.
_OBJECTS = (
    # https://docs.sqlalchemy.org/en/20/changelog/migration_20.html
    (
        "sqlalchemy<2",
        "(?:option)?engine",
        "execute table_names has_table scalar run_callable transaction",
    ),
    ("sqlalchemy<2", "metadata", "bind"),
    ("sqlalchemy<2", "str|textclause", "_execute_on_connection"),
    ("sqlalchemy>=2", "connection", "commit rollback"),
    ("sqlalchemy>=2", "(?:option)?engine", "cursor"),
    (
        "flask-sqlalchemy<3",
        "sqlalchemy",
        "get_app basequery apply_driver_hacks apply_pool_defaults",
    ),
    # https://flask.palletsprojects.com/en/stable/changes/
    (
        "flask<2.3",
        "(?:flask|blueprint)",
        "before_first_request before_app_first_request json_encoder json_decoder"
        " session_cookie_name send_file_max_age_default propagate_exceptions",
    ),
    ("flask>=2", "(?:flask|blueprint)", "get post put delete patch"),
    ("werkzeug<1", "request", "is_xhr"),
    # https://docs.djangoproject.com/en/stable/internals/deprecation/
    ("django<4", "(?:wsgi|asgi)request|request", "is_ajax"),
    ("django<1.10", "options", "get_all_field_names get_field_by_name get_all_related_objects"),
    ("django<2", r"(?:foreignkey|manytomanyfield|onetoonefield|\w{1,20}field)", "rel"),
    # https://networkx.org/documentation/stable/release/
    ("networkx<2.4", "(?:multi)?(?:di|ordereddi)?graph", "node"),
    (
        "networkx<2",
        "(?:multi)?(?:di|ordereddi)?graph",
        "edge nodes_iter edges_iter adjacency_iter neighbors_iter degree_iter predecessors_iter"
        " successors_iter adjacency_list add_path add_cycle add_star selfloop_edges"
        " nodes_with_selfloops number_of_selfloops in_degree_iter out_degree_iter",
    ),
    ("networkx<2", "(?:in|out)?(?:multi)?(?:degree|edge|node)view", "items values keys sort"),
    # https://matplotlib.org/stable/api/prev_api_changes/
    ("matplotlib<3.6", r"figurecanvas\w{1,20}", "set_window_title"),
    ("matplotlib", r"figurecanvas\w{1,20}", "manager draw_cursor"),
    (
        "matplotlib",
        r"axes(?:subplot|3d(?:subplot)?)?",
        "axisbg set_axis_bgcolor get_axis_bgcolor hold ishold set_color_cycle is_first_col"
        " is_last_row is_first_row is_last_col w_xaxis w_yaxis w_zaxis dist",
    ),
    ("matplotlib>=3.4", "subplotspec", "is_first_col is_last_row is_first_row is_last_col"),
    ("matplotlib<3.10", r"(?:quad|tri)?contourset", "collections tcolors tlinewidths"),
    ("matplotlib<3.9", "legend", "legendhandles"),
    ("matplotlib>=3.6", "colormapregistry", "get_cmap"),
    (
        "matplotlib",
        "rcparams|colorbar|poly3dcollection|line2d",
        r"_get set_clim draw_all"
        " _facecolors2d _edgecolors2d is_dashed",
    ),
    # https://pandas.pydata.org/docs/whatsnew/
    (
        "pandas<2",
        "dataframe|series",
        "lookup tshift slice_shift to_panel ftypes get_ftype_counts blocks as_blocks to_sparse"
        " to_msgpack nonzero get_values is_copy compress swaplevels",
    ),
    ("pandas<2", r"datetimeproperties|datetimeindex|timestamp|series", "weekofyear weekday_name"),
    ("pandas<2", "styler", "hide_index hide_columns render set_precision set_na_rep"),
    ("pandas<2", r"excelwriter|_?(?:xlsx|openpyxl)writer", "save _save"),
    ("pandas>=1.1", "datetimeproperties|timestamp", "isocalendar"),
    ("pandas>=0.24", "dataframe|series", "to_numpy droplevel explode convert_dtypes to_markdown"),
    ("pandas", r"(?:single)?blockmanager", r"\w{1,60}"),
    # https://numpy.org/doc/stable/release/2.0.0-notes.html
    ("numpy<2", r"(?:numpy\.)?ndarray", "ptp itemset newbyteorder"),
    # https://docs.scipy.org/doc/scipy/release/1.14.0-notes.html
    ("scipy<1.14", _SPARSE, "a h a1 geth asfptype getcol getrow get_shape getformat"),
    ("scipy<1.6", r"(?:\w{1,40}\.){0,6}rotation", "as_dcm from_dcm"),
    # https://scikit-learn.org/stable/whats_new.html
    ("scikit-learn<1.2", _ESTIMATORS, "get_feature_names"),
    ("scikit-learn>=1", _ESTIMATORS, "get_feature_names_out set_output"),
    (
        "scikit-learn",
        _ESTIMATORS,
        "n_features_ _fit_dtype monotonic_cst _n_threads grid_scores_ _infrequent_enabled"
        " sparse_output active_features_ _validate_data _check_n_features base_estimator_"
        " _force_all_finite categorical_features",
    ),
    ("scikit-learn<1.6", "super", "__sklearn_tags__"),
    (
        "xgboost",
        "xgb(?:classifier|regressor|model)",
        "use_label_encoder _le gpu_id predictor callbacks enable_categorical early_stopping_rounds",
    ),
    # https://github.com/pytorch/pytorch/releases
    ("torch<1.13", "_(?:multi|single)processingdataloaderiter|_dataloaderiter", "next"),
    (
        "torch",
        _TORCH,
        "recompute_scale_factor approximate padding_mode _reversed_padding_repeated_twice"
        " _padding_repeated_twice num_batches_tracked batch_first activation_relu_or_gelu"
        " norm_first proj_size _flat_weights _flat_weights_names _step_supports_amp_scaling"
        " _zero_grad_profile_name _optimizer_step_pre_hooks _optimizer_step_post_hooks"
        " _warned_capturable_if_run_uncaptured divisor_override _cuda_graph_capture_health_check"
        " _qkv_same_embed_dim",
    ),
    ("torch>=2", r"(?:untyped|typed|\w{1,10})storage|tensor", "untyped_storage _typed_storage"),
    ("torchtext<0.9", "vocab", "itos stoi freqs vectors"),
    # https://github.com/huggingface/transformers/releases
    ("transformers", _TOKENIZERS, r"\w{1,80}"),
    ("transformers", _OF_TRANSFORMERS, r"\w{1,80}"),
    ("transformers", r"(?:seq2seq)?trainingarguments|generationconfig", r"\w{1,80}"),
    (
        "transformers",
        r"\w{1,40}config",
        "_attn_implementation _attn_implementation_internal use_return_dict pruned_heads"
        " chunk_size_feed_forward gradient_checkpointing forced_decoder_ids rope_theta"
        " standardize_rope_params use_bfloat16",
    ),
    (
        "transformers",
        "(?:dynamic|static|hybrid|encoderdecoder)cache",
        "seen_tokens _seen_tokens get_max_length get_usable_length key_cache value_cache"
        " to_legacy_cache from_legacy_cache get_max_cache_shape layers",
    ),
    ("accelerate", "accelerator(?:state)?|partialstate", r"\w{1,80}"),
    # https://docs.pydantic.dev/latest/migration/
    (
        "pydantic>=2",
        r"(?!BUILTIN )\w{1,80}",
        "model_dump model_dump_json model_validate model_validate_json model_fields model_copy"
        " model_json_schema model_rebuild model_construct",
    ),
    ("pydantic", r"(?!BUILTIN )\w{1,80}", r"__fields_set__ __pydantic_\w{1,40} __fields__"),
    ("pydantic", "fieldinfo|modelfield|modelmetaclass", r"\w{1,80}"),
    # https://discordpy.readthedocs.io/en/stable/migrating.html
    (
        "discord-py<2",
        "member|user|clientuser|guild|appinfo",
        "avatar_url avatar_url_as icon_url banner_url permissions_in default_avatar_url",
    ),
    ("discord-py", "intents|connectionstate", r"\w{1,60}"),
    ("discord-py>=2", "bot|client|autoshardedbot|autoshardedclient", "tree setup_hook"),
    (
        "discord-py",
        "bot|client|autoshardedbot",
        "slash_command send_message say logout send_file"
        " add_application_command application_command",
    ),
    # https://github.com/python-telegram-bot/python-telegram-bot/wiki
    ("python-telegram-bot<20", "updater", "dispatcher idle"),
    (
        "aiogram<3",
        "dispatcher",
        "message_handler middleware register_message_handler callback_query_handler",
    ),
    # https://github.com/SeleniumHQ/selenium/blob/trunk/py/CHANGES
    (
        "selenium<4.3",
        r"webdriver|webelement|function|chrome|\w{0,20}driver",
        r"find_elements?_by_\w{1,20} switch_to_\w{1,20}",
    ),
    ("selenium<4.10", "str", "capabilities"),
    # https://pillow.readthedocs.io/en/stable/releasenotes/10.0.0.html
    (
        "pillow<10",
        "freetypefont|imagefont|transposedfont|imagedraw",
        "getsize getsize_multiline getoffset textsize multiline_textsize",
    ),
    (
        "pillow>=8",
        "freetypefont|imagefont|imagedraw",
        "getbbox getlength textbbox textlength rounded_rectangle",
    ),
    ("pillow", "module|jpegimagefile|pngimagefile", "antialias"),
    # https://github.com/piskvorky/gensim/wiki/Migrating-from-Gensim-3.x-to-4
    (
        "gensim<4",
        "word2vec|doc2vec|fasttext|keyedvectors|word2veckeyedvectors",
        "vocab index2word syn0 docvecs most_similar similarity init_sims index2entity",
    ),
    ("h5py<3", "dataset", "value"),
    ("openai>=1", "openai|asyncopenai", "responses beta chat images vector_stores"),
    ("gradio<4", _GRADIO, "style"),
    ("gradio<4", "button|textbox|chatbot|slider|dropdown|gallery|checkbox|radio", "update"),
    # https://pymongo.readthedocs.io/en/stable/migrate-to-pymongo4.html
    ("pymongo<4", "cursor", "count"),
    # https://web3py.readthedocs.io/en/stable/migration.html
    (
        "web3<6",
        "eth|web3",
        "getbalance sendtransaction getblock blocknumber getcode gettransactioncount"
        " waitfortransactionreceipt sendrawtransaction towei fromwei tochecksumaddress isconnected"
        " tohex totext isaddress solidityKeccak toint estimategas",
    ),
    ("web3<7", "signedtransaction", "rawtransaction"),
    # https://zulko.github.io/moviepy/getting_started/updating_to_v2.html
    (
        "moviepy<2",
        r"(?:\w{0,20})clip",
        "subclip set_audio set_duration resize fx set_position volumex set_start set_pos set_end"
        " set_fps fl_image crop set_opacity",
    ),
    ("tweepy<4", "api", "search me followers_ids friends_ids followers friends update_with_media"),
    # https://docs.pytest.org/en/stable/changelog.html
    ("pytest", "function|item|fixturedef|package|module", "get_marker unittest obj"),
    ("pytest", "pytestpluginmanager|fixturefunctiondefinition", r"\w{1,80}"),
    ("notebook", "extensionmanager", "_extensions"),
    ("biopython", "seq|mutableseq|seqrecord", "tostring tomutable"),
    ("astroid", "treerebuilder", r"visit_\w{1,40}"),
    ("astroid", r"\w{1,40}", "infered"),
    ("pip", "nonetype", "skip_requirements_regex is_hash_allowed"),
    (
        "pip",
        "installrequirement|requirementset|packagefinder|pipsession|requirementpreparer"
        "|linkcollector",
        r"\w{1,80}",
    ),
    ("pip", "values", "process_dependency_links build_isolation"),
    ("protobuf", "nonetype", "message_types_by_name"),
    (
        "bitsandbytes",
        "nonetype",
        r"cget_managed_ptr cadam32bit_grad_fp32 cquantize_blockwise\w{1,20}"
        " cget_col_row_stats",
    ),
)


def _sentence(needs: str, what: str) -> str:
    newer, older = needs.split(">="), needs.split("<")
    if len(newer) == 2:
        return f"{newer[0]} {newer[1]} brought $1 of {what}: an older one is installed."
    if len(older) == 2:
        return f"{older[0]} {older[1]} no longer has $1 of {what}: the code is for an older one."
    return f"The installed {needs} has no $1 of {what}: the code, or what was saved, is of another."


def _of_object(needs: str, classes: str, names: str) -> MessageRule:
    package = needs.partition("<")[0].partition(">")[0]
    return fault(
        "missing-attribute",
        rf"(?<!\w)(?:type object )?(?:{classes})(?: object)? has no attribute"
        rf" ({'|'.join(names.lower().split())})(?!\w)",
        _sentence(needs, "an object"),
        package=package,
        needs=needs if needs != package else "",
    )


OF_OBJECTS = tuple(_of_object(*row) for row in _OBJECTS)
