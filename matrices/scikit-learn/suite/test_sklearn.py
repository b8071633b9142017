"""Estimators fitted on arrays, sparse matrices and data frames, as users do."""

import pickle

import numpy as np
import pytest


@pytest.fixture
def line():
    """A line with a slope of 3 and no noise."""
    x = np.arange(20, dtype=float).reshape(-1, 1)
    return x, 3 * x[:, 0] + 1


@pytest.fixture
def groups():
    """Two groups of points far from each other, and which is which."""
    random = np.random.RandomState(0)
    points = np.concatenate([random.normal(0, 1, (40, 2)), random.normal(10, 1, (40, 2))])
    return points, np.repeat([0, 1], 40)


@pytest.mark.capability("import", title="Import", says="scikit-learn imports, with what is compiled for numpy.")
def test_it_imports():
    import sklearn
    import sklearn.tree._tree

    assert sklearn.__version__


@pytest.mark.capability("linear.fit", title="Linear regression", says="A line is found again.")
def test_a_line_is_found(line):
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(*line)
    assert model.coef_[0] == pytest.approx(3)
    assert model.intercept_ == pytest.approx(1)


@pytest.mark.capability("logistic.fit", title="Logistic regression", says="Two groups are told apart; scipy minimises.")
def test_groups_are_told_apart(groups):
    from sklearn.linear_model import LogisticRegression

    assert LogisticRegression().fit(*groups).score(*groups) == 1


@pytest.mark.capability("tree.fit", title="A forest", says="A random forest tells two groups apart.")
def test_a_forest(groups):
    from sklearn.ensemble import RandomForestClassifier

    assert RandomForestClassifier(n_estimators=5, random_state=0).fit(*groups).score(*groups) == 1


@pytest.mark.capability("boosting.fit", title="Gradient boosting", says="Histogram boosting tells two groups apart.")
def test_boosting(groups):
    from sklearn.ensemble import HistGradientBoostingClassifier

    assert HistGradientBoostingClassifier(max_iter=5).fit(*groups).score(*groups) == 1


@pytest.mark.capability("svm.fit", title="A support vector machine", says="libsvm tells two groups apart.")
def test_a_support_vector_machine(groups):
    from sklearn.svm import SVC

    assert SVC().fit(*groups).score(*groups) == 1


@pytest.mark.capability("neighbours.fit", title="Neighbours", says="The nearest neighbour of a point is itself.")
def test_neighbours(groups):
    from sklearn.neighbors import KNeighborsClassifier

    assert KNeighborsClassifier(1).fit(*groups).score(*groups) == 1


@pytest.mark.capability("cluster.fit", title="Clusters", says="k-means finds two groups.")
def test_clusters(groups):
    from sklearn.cluster import KMeans

    points, which = groups
    found = KMeans(2, n_init=3, random_state=0).fit_predict(points)
    assert len({*zip(found.tolist(), which.tolist())}) == 2


@pytest.mark.capability("pca.fit", title="Principal components", says="The main direction holds most of the variance.")
def test_principal_components(groups):
    from sklearn.decomposition import PCA

    assert PCA(2).fit(groups[0]).explained_variance_ratio_[0] > 0.9


@pytest.mark.capability("sparse.fit", title="Sparse matrices", says="A model is fitted on a matrix of scipy.sparse.")
def test_a_sparse_matrix(groups):
    from scipy import sparse
    from sklearn.linear_model import SGDClassifier

    points, which = groups
    matrix = sparse.csr_matrix(points)
    assert SGDClassifier(random_state=0).fit(matrix, which).score(matrix, which) > 0.9


@pytest.mark.capability("sparse.array", title="Sparse arrays", says="A model is fitted on scipy's newer sparse arrays.")
def test_a_sparse_array(groups):
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    points, which = groups
    assert LogisticRegression().fit(sparse.csr_array(points), which).score(points, which) == 1


@pytest.mark.capability("text.count", title="Text", says="Words are counted into a sparse matrix.")
def test_words_are_counted():
    from sklearn.feature_extraction.text import CountVectorizer

    counted = CountVectorizer().fit_transform(["a red fox", "a red red dog"])
    assert counted.toarray().tolist() == [[0, 1, 1], [1, 0, 2]]


@pytest.mark.capability("frame.fit", title="Data frames", says="A model is fitted on a data frame, and keeps its columns' names.")
def test_a_data_frame(line):
    import pandas as pd
    from sklearn.linear_model import LinearRegression

    frame = pd.DataFrame({"x": line[0][:, 0]})
    model = LinearRegression().fit(frame, pd.Series(line[1]))
    assert list(model.feature_names_in_) == ["x"]
    assert model.coef_[0] == pytest.approx(3)


@pytest.mark.capability("frame.output", title="Data frames as output", says="A transformer gives a data frame where asked to.")
def test_output_is_a_data_frame():
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["x", "y", "z"])
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(frame)
    assert list(scaled.index) == ["x", "y", "z"]
    assert scaled["a"].mean() == pytest.approx(0)


@pytest.mark.capability("frame.text", title="Columns of text", says="Columns of text of a data frame are encoded.")
def test_columns_of_text():
    import pandas as pd
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"a": ["x", "y", "x"]})
    assert OneHotEncoder().fit_transform(frame).toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.capability("frame.categories", title="Categories", says="Boosting takes a column of categories as such.")
def test_categories():
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier

    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"] * 30)})
    model = HistGradientBoostingClassifier(categorical_features=[0], max_iter=5)
    assert model.fit(frame, [0, 1] * 30).score(frame, [0, 1] * 30) == 1


@pytest.mark.capability("frame.missing", title="Missing values", says="Missing values of a data frame are filled in.")
def test_missing_values():
    import pandas as pd
    from sklearn.impute import SimpleImputer

    frame = pd.DataFrame({"a": [1.0, None, 3.0]})
    assert SimpleImputer().fit_transform(frame).ravel().tolist() == [1, 2, 3]


@pytest.mark.capability("pipeline", title="Pipelines", says="Columns of a frame go through transformers of their own to a model.")
def test_a_pipeline():
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame({"kind": ["x", "y"] * 20, "size": np.arange(40.0)})
    columns = ColumnTransformer([("a", OneHotEncoder(), ["kind"]), ("b", StandardScaler(), ["size"])])
    model = make_pipeline(columns, LogisticRegression())
    assert model.fit(frame, [0, 1] * 20).score(frame, [0, 1] * 20) == 1


@pytest.mark.capability("search", title="Cross-validation", says="A grid of parameters is searched.")
def test_a_grid_is_searched(line):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    found = GridSearchCV(Ridge(), {"alpha": [0.001, 1000.0]}, cv=3).fit(*line)
    assert found.best_params_ == {"alpha": 0.001}


@pytest.mark.capability("metrics", title="Metrics", says="Scores of a classifier are what they should be.")
def test_metrics():
    from sklearn.metrics import f1_score, roc_auc_score

    assert f1_score([0, 1, 1, 0], [0, 1, 0, 0]) == pytest.approx(2 / 3)
    assert roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == pytest.approx(0.75)


@pytest.mark.capability("pickle", title="Pickle", says="A fitted model survives pickling.")
def test_a_model_is_pickled(groups):
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(*groups)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(groups[0]) == model.predict(groups[0])).all()
