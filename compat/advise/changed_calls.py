"""The `advise` room's knowledge of how functions of much-used packages are called: arguments that
releases took away or brought, as their changelogs tell, and classes whose name says whose they are.

Since Python 3.10 a method is named with its class, before that alone: an argument that is named
after nothing else tells, too.
"""

from compat.advise.message_rule import MessageRule, fault

_GOT = r"got an unexpected keyword argument"
_MISSING = r"missing \d{1,2} required (?:positional|keyword-only) arguments?:"
_TAKES = (
    r"(?:takes (?:from )?\d{1,2}(?: to \d{1,2})? positional arguments? but"
    r"|got an unexpected keyword argument \w{1,80})"
)
# What would mend it, or the package alone; functions; arguments that they do not know.
_UNKNOWN = (
    # https://github.com/encode/httpx/blob/master/CHANGELOG.md, 0.28
    ("httpx<0.28", r"(?:(?:async)?client\.)?__init__", "proxies app"),
    ("httpx<0.28", r"(?:get|post|request|stream|put|patch|delete)", "proxies"),
    # https://lightning.ai/docs/pytorch/stable/upgrade/migration_guide.html
    (
        "pytorch-lightning<2",
        r"(?:trainer\.)?__init__",
        "gpus tpu_cores num_processes auto_select_gpus progress_bar_refresh_rate weights_summary"
        " checkpoint_callback resume_from_checkpoint auto_lr_find auto_scale_batch_size"
        " distributed_backend amp_backend amp_level flush_logs_every_n_steps row_log_interval"
        " stochastic_weight_avg terminate_on_nan process_position prepare_data_per_node"
        " multiple_trainloader_mode truncated_bptt_steps reload_dataloaders_every_epoch"
        " replace_sampler_ddp log_save_interval nb_sanity_val_steps max_nb_epochs"
        " early_stop_callback ipus move_metrics_to_cpu",
    ),
    (
        "pytorch-lightning",
        r"(?:(?:trainer|modelcheckpoint)\.)?__init__",
        "every_n_epochs every_n_train_steps save_on_train_epoch_end enable_progress_bar"
        " inference_mode",
    ),
    # https://docs.sqlalchemy.org/en/20/changelog/migration_20.html
    ("sqlalchemy<2", r"metadata\.__init__", "bind"),
    ("sqlalchemy<2", r"(?:session\.__init__|select)", "autocommit whereclause"),
    (
        "sqlalchemy>=1.4",
        r"(?:create_engine|\w{0,20}session\.__init__|column\.__init__)",
        "future sort_order insert_default",
    ),
    # https://scikit-learn.org/stable/whats_new.html
    (
        "scikit-learn",
        r"(?:\w{1,40}\.)?(?:__init__|__new__|fit|check_array|make_scorer)",
        "sparse_output base_estimator affinity min_impurity_split presort categorical_features iid"
        " force_all_finite ensure_all_finite needs_proba needs_threshold multi_class n_topics",
    ),
    (
        "scikit-learn",
        r"mean_squared_error|roc_auc_score|log_loss|accuracy_score|f1_score|precision_score",
        "squared multi_class eps zero_division",
    ),
    # https://xgboost.readthedocs.io/en/stable/changes/, https://lightgbm.readthedocs.io
    ("lightgbm<4", r"train|cv|fit|lgbm\w{1,20}\.fit", "verbose_eval evals_result"),
    ("lightgbm<4", r"lgbm\w{1,20}\.fit", "verbose early_stopping_rounds"),
    ("xgboost", r"(?:xgb\w{1,20}\.)?fit", "early_stopping_rounds eval_metric"),
    # https://pandas.pydata.org/docs/whatsnew/
    (
        "pandas",
        r"(?:\w{1,60}\.|<locals>\.){0,4}\w{1,40}",
        "line_terminator lineterminator error_bad_lines warn_bad_lines mangle_dupe_cols"
        " on_bad_lines infer_datetime_format numeric_only loffset dtype_backend group_keys",
    ),
    # https://matplotlib.org/stable/api/prev_api_changes/
    (
        "matplotlib",
        r"(?:\w{1,60}\.|<locals>\.){0,4}\w{1,40}",
        "axisbg use_line_collection tick_labels basey basex nonposy nonposx linthreshx linthreshy"
        " box_aspect",
    ),
    ("matplotlib<3.6", r"(?:figure(?:base)?\.)?gca", "projection"),
    # https://numpy.org/doc/stable/release/
    (
        "numpy",
        r"asarray|array|concatenate|stack|load|reshape",
        "copy like newshape max_header_size",
    ),
    # https://urllib3.readthedocs.io/en/stable/v2-migration-guide.html
    ("urllib3<2", r"(?:retry\.)?__init__", "method_whitelist"),
    ("urllib3>=1.26", r"(?:retry\.)?__init__", "allowed_methods"),
    ("urllib3", r"(?:\w{1,40}\.)?__new__", r"key_\w{1,40}"),
    ("urllib3", r"(?:\w{1,40}\.)?(?:request|urlopen)", "chunked preload_content"),
    # https://github.com/SeleniumHQ/selenium/blob/trunk/py/CHANGES
    (
        "selenium<4.10",
        r"(?:webdriver\.)?__init__",
        "executable_path chrome_options desired_capabilities firefox_profile service_log_path"
        " firefox_binary",
    ),
    # https://click.palletsprojects.com/en/stable/changes/
    ("click", r"(?:\w{1,40}\.)?__init__", "shell_complete autocompletion"),
    # https://github.com/piskvorky/gensim/wiki/Migrating-from-Gensim-3.x-to-4
    ("gensim<4", r"(?:word2vec|doc2vec|fasttext)\.__init__", "size iter"),
    ("gensim>=4", r"(?:word2vec|doc2vec|fasttext)\.__init__", "vector_size epochs"),
    # https://gymnasium.farama.org/introduction/migration_guide/
    ("gym", r"(?:\w{1,60}\.)?reset", "seed return_info options"),
    ("gym", r"(?:\w{1,60}\.)?render", "mode"),
    ("gym", r"(?:\w{1,60}\.)?__init__", "render_mode new_step_api apply_api_compatibility"),
    # https://docs.python.org/3/whatsnew/3.10.html#removed
    (
        "python<3.10",
        r"(?:(?:lock|event|queue|semaphore|boundedsemaphore|condition|priorityqueue|lifoqueue"
        r"|streamreader)\.)?__init__|sleep|wait|wait_for|gather|as_completed|open_connection"
        r"|create_subprocess_exec|start_server",
        "loop",
    ),
    # https://scikit-image.org/docs/stable/release_notes/
    ("scikit-image", r"\w{1,60}", "multichannel channel_axis selem"),
    # https://github.com/gradio-app/gradio/blob/main/CHANGELOG.md
    (
        "gradio",
        r"(?:\w{1,40}\.)?(?:__init__|queue|launch|update|change|click|load|style)",
        "show_copy_button bubble_full_width concurrency_limit concurrency_count enable_queue"
        " allow_flagging flagging_mode show_api show_download_button show_share_button"
        " avatar_images likeable default_concurrency_limit api_open elem_classes ssr_mode"
        " mcp_server api_name",
    ),
    (
        "gradio",
        r"(?:image|video|audio|textbox|chatbot|interface|blocks|dropdown|gallery|chatinterface)"
        r"\.__init__",
        "source tool shape every min_width rounded theme css type height scale container width",
    ),
    # https://docs.streamlit.io/develop/quick-reference/release-notes
    (
        "streamlit",
        r"(?:\w{1,30}\.)?(?:image|button|dataframe|form|columns|slider|text_input|plotly_chart"
        r"|data_editor|metric|selectbox|radio|cache|pyplot|form_submit_button)",
        "use_container_width use_column_width label_visibility hide_index column_config"
        " clear_on_submit allow_output_mutation",
    ),
    # https://pyjwt.readthedocs.io/en/stable/changelog.html
    ("pyjwt<2", r"(?:\w{1,20}\.)?decode", "verify"),
    # https://github.com/davidhalter/jedi/blob/master/CHANGELOG.rst, 0.18
    ("jedi<0.18", r"(?:script\.)?__init__", "column"),
    (
        "elasticsearch<8",
        r"(?:\w{1,40}\.)?(?:search|index|create|update|bulk|__init__|put_mapping)",
        "doc_type use_ssl http_auth include_type_name",
    ),
    ("python-telegram-bot<20", r"(?:updater\.)?__init__", "use_context"),
    ("python-telegram-bot<20", r"updater\.__init__", "token"),
    (
        "marshmallow",
        r"(?:\w{1,30}\.)?__init__",
        "load_from dump_to load_default dump_default missing",
    ),
    ("librosa", "resample", "orig_sr target_sr"),
    ("librosa", "get_duration", "filename path"),
    # https://github.com/huggingface/transformers/releases and those of its neighbours
    ("huggingface-hub", r"hf_hub_download|snapshot_download|\w{1,20}_repo", r"\w{1,80}"),
    (
        "transformers",
        r"(?:\w{1,60}\.){0,3}\w{1,40}",
        "attn_implementation evaluation_strategy eval_strategy overwrite_output_dir cache_position"
        " num_items_in_batch position_embeddings _attn_implementation load_in_8bit load_in_4bit"
        " use_flash_attention_2 processing_class past_key_values",
    ),
    (
        "trl",
        r"(?:\w{1,40}\.)?__init__",
        "dataset_text_field max_seq_length dataset_num_proc max_prompt_length neftune_noise_alpha",
    ),
    (
        "accelerate",
        r"(?:accelerator\.)?(?:__init__|unwrap_model)",
        "dispatch_batches logging_dir use_seedable_sampler even_batches split_batches"
        " keep_torch_compile",
    ),
    (
        "torch",
        r"(?:\w{1,60}\.){0,3}\w{1,40}",
        "weights_only enable_gqa enable_onnx_checker example_outputs async check_reduction",
    ),
    ("discord-py", r"(?:\w{1,20}\.)?__init__", "self_bot debug_guilds fetch_offline_members"),
    (
        "seaborn",
        r"distplot|factorplot|barplot|boxplot|countplot|kdeplot|lineplot|heatmap|histplot|pairplot"
        r"|violinplot|pointplot|catplot|scatterplot|stripplot|swarmplot|facetgrid\.__init__",
        "shade size native_scale errorbar shade_lowest",
    ),
    (
        "albumentations",
        r"(?:\w{1,40}\.)?__init__",
        "always_apply max_holes var_limit alpha_affine min_holes max_h_size std_range",
    ),
    ("packaging", "canonicalize_version|canonicalize_name", r"\w{1,80}"),
    (
        "protobuf",
        r"(?:\w{1,40}\.)?(?:__new__|__init__|messageto(?:dict|json)|parsedict)",
        "including_default_value_fields always_print_fields_with_no_presence serialized_pb"
        " create_key serialized_options serialized_start",
    ),
)
# Likewise, of arguments that are asked for.
_REQUIRED = (
    # https://github.com/yaml/pyyaml/blob/main/CHANGES, 6.0
    ("pyyaml<6", "load|load_all", "loader"),
    ("discord-py<2", r"(?:\w{1,30}\.)?__init__", "intents"),
    (
        "cryptography>=3.1",
        r"load_\w{1,40}|(?:hash|hmac|cipher|hkdf|pbkdf2hmac|scrypt|\w{1,30}builder)?\.?__init__"
        r"|derive_private_key|generate_private_key|sign",
        "backend",
    ),
    ("typer", "argument|option", "default"),
    ("click<8.2", r"(?:\w{1,40}\.)?make_metavar", "ctx"),
    ("pydantic", r"(?:forwardref\.)?_evaluate", "recursive_guard type_params"),
    ("markdown<3", r"(?:\w{1,40}\.)?extendmarkdown", "md_globals"),
    ("python-telegram-bot<20", r"(?:updater\.)?__init__", "update_queue"),
    ("elasticsearch<8", r"(?:nodeconfig\.)?__init__", "scheme"),
    ("pyjwt<2", r"(?:\w{1,20}\.)?decode", "algorithms"),
    # https://pip.pypa.io/en/stable/news/: what setup scripts take of pip's own code.
    ("pip", "parse_requirements|search_packages_info", "session include_files"),
)
# Functions that take what follows by name alone, as releases made them.
_BY_NAME = (
    # https://librosa.org/doc/latest/changelog.html#v0-10-0
    (
        "librosa<0.10",
        "beat_track|melspectrogram|mfcc|chroma_stft|chroma_cqt|onset_strength|onset_detect"
        "|spectral_centroid|pitch_shift|time_stretch|tempogram|zero_crossing_rate|griffinlim|mel",
        r"[01] positional arguments? but",
    ),
    (
        "librosa<0.10",
        "load|resample|stft|istft|rms|get_duration",
        r"[01] positional arguments? but \d positional arguments? \(and",
    ),
    # https://seaborn.pydata.org/whatsnew/v0.12.0.html
    (
        "seaborn<0.12",
        "barplot|boxplot|scatterplot|lineplot|countplot|violinplot|kdeplot|pointplot|stripplot"
        "|swarmplot|regplot|lmplot|catplot|jointplot|histplot|displot|boxenplot",
        r"(?:from 0 to 1|0|1) positional arguments? but",
    ),
    # https://pandas.pydata.org/docs/whatsnew/v2.0.0.html
    (
        "pandas<2",
        r"(?:dataframe|series|multiindex|(?:dataframe|series)groupby)\.\w{1,40}|concat|read_csv"
        "|read_excel|read_table|read_json",
        r"(?:from )?\d(?: to \d)? positional arguments? but",
    ),
    ("aiogram<3", r"dispatcher\.__init__", "1 positional argument but"),
)
# Classes that one package alone has: whatever is wrong with a call of theirs is between it and who
# calls.
_CLASSES = {
    "pandas": "dataframe series stringdtype dataframegroupby seriesgroupby multiindex"
    " ndframe styler",
    "fastmcp": "fastmcp",
    "fastapi": "fastapi apirouter",
    "flask": "flask",
    "transformers": "trainingarguments seq2seqtrainingarguments generationconfig bitsandbytesconfig"
    " pretrainedmodel pretrainedtokenizerbase",
    "trl": "sfttrainer sftconfig dpotrainer dpoconfig ppotrainer ppoconfig grpoconfig grpotrainer"
    " rewardtrainer orpotrainer",
    "peft": "loraconfig peftmodel peftconfig loramodel loralayer",
    "accelerate": "accelerator fullyshardeddataparallelplugin dataloaderconfiguration",
    "diffusers": "stablediffusionpipeline unet2dconditionmodel autoencoderkl diffusionpipeline",
    "torch": "distributeddataparallel gradscaler multiheadattention"
    " transformerencoderlayer distributedsampler",
    "scikit-learn": "onehotencoder kmeans sgdclassifier logisticregression randomforestclassifier"
    " randomforestregressor agglomerativeclustering baggingclassifier adaboostclassifier"
    " simpleimputer tfidfvectorizer countvectorizer gridsearchcv kfold stratifiedkfold"
    " mlpclassifier columntransformer iterativeimputer calibratedclassifiercv linearregression"
    " polynomialfeatures spectralclustering isolationforest",
    "xgboost": "xgbclassifier xgbregressor xgbmodel xgbranker",
    "lightgbm": "lgbmclassifier lgbmregressor lgbmmodel",
    "streamlit": "buttonmixin imagemixin arrowmixin layoutsmixin headingmixin plotlymixin"
    " dataeditormixin markdownmixin metricmixin slidermixin selectboxmixin mediamixin chatmixin",
    "sqlalchemy": "sessionmaker",
    "celery": "celery",
    "matplotlib": "figurecanvasbase figurecanvasagg figurecanvasqtagg axes axes3d figurebase"
    " axessubplot",
    "selenium": "webdriver",
    "gensim": "word2vec doc2vec keyedvectors",
    "pymongo": "mongoclient",
    "redis": "redis strictredis",
    "kafka-python": "kafkaproducer kafkaconsumer",
    "elasticsearch": "elasticsearch",
    "openai": "openai asyncopenai",
    "anthropic": "anthropic",
    "qdrant-client": "qdrantclient",
    "chromadb": "persistentclient",
    "langgraph": "stategraph",
}


def _package(needs: str) -> str:
    return needs.partition("<")[0].partition(">")[0]


def _call(needs: str, pattern: str, sentence: str) -> MessageRule:
    package = _package(needs)
    return fault(
        "type-error",
        pattern,
        sentence,
        package=package,
        needs=needs if needs != package else "",
    )


def _names(names: str) -> str:
    return "|".join(names.split())


OF_CHANGED_CALLS = (
    *(
        _call(
            needs,
            rf"(?<![\w.])(?:{functions})\(\) {_GOT} ({_names(arguments)})(?!\w)",
            f"The installed {_package(needs)} does not take $1 there: the code is for another one.",
        )
        for needs, functions, arguments in _UNKNOWN
    ),
    *(
        _call(
            needs,
            rf"(?<![\w.])(?:{functions})\(\) {_MISSING} ({_names(arguments)})(?!\w)",
            f"The installed {_package(needs)} asks for $1 there: the code is for another one.",
        )
        for needs, functions, arguments in _REQUIRED
    ),
    *(
        _call(
            needs,
            rf"(?<![\w.])({functions})\(\) takes {number}",
            f"$1 of the installed {_package(needs)} takes its arguments by name: the code is for an"
            " older one.",
        )
        for needs, functions, number in _BY_NAME
    ),
    *(
        _call(
            package,
            rf"typeerror: (?:\w{{1,40}}\.){{0,2}}({_names(classes)})\.(\w{{1,60}})\(\) {_TAKES}",
            f"$1.$2 of the installed {package} is called in a way that it does not take.",
        )
        for package, classes in _CLASSES.items()
    ),
)
